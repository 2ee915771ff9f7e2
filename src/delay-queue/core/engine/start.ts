import type { DataSource } from 'typeorm';
import { DelayConfigError } from '../api/errors.js';
import type { DelayEvents } from '../api/events.js';
import { nearest } from '../config/known-options.js';
import type { ResolvedOptions } from '../config/options.js';
import { PERMISSION_DENIED, readSqlState, startError } from '../database/driver-errors.js';
import { EngineConnections } from '../database/engine-connections.js';
import { closeIfOurs } from '../database/pg-data-source.js';
import { postgresDriver } from '../database/postgres-driver.js';
import { checkStart } from '../store/check-start.js';
import { TestClockStore } from '../store/test-clock.store.js';

/** Postgres truncates an application's name to this length. */
const APPLICATION_NAME_MAX = 63;

/** @throws DelayConfigError when the DataSource is none of an initialized pool of `pg` */
export function createConnections(
  dataSource: DataSource,
  { nodeName, connections, transactionalConnections, leaseMs }: ResolvedOptions,
): EngineConnections {
  const { options, isInitialized } = dataSource;
  if (options.type !== 'postgres') {
    throw new DelayConfigError(`the DataSource must be of type postgres, not ${options.type}`);
  }
  // Settings come from the pool. Without one, PGHOST and the like would decide where to connect.
  if (!isInitialized) throw new DelayConfigError(NOT_INITIALIZED);
  if (typeof postgresDriver(dataSource).master?.off !== 'function') {
    throw new DelayConfigError(NO_POOL_OF_PG);
  }
  const name = `delay-queue ${nodeName}`.slice(0, APPLICATION_NAME_MAX);
  const attempts = { max: transactionalConnections, idleMs: leaseMs };
  return new EngineConnections(dataSource, connections, name, attempts);
}

/**
 * Opens the connections, checks the database, and calls `begin` with what it found.
 *
 * @param begin receives the settings of the role, in words, that are too short for the engine's
 * statements; null: none
 * @throws DelayConfigError when the database cannot do what the options ask for
 */
export async function openDatabase(
  dataSource: DataSource,
  connections: EngineConnections,
  options: ResolvedOptions,
  events: DelayEvents,
  begin: (limits: string | null) => Promise<void>,
): Promise<void> {
  try {
    void connections.openEarly().then((message) => {
      if (message !== undefined) events.emit('advice', { message });
    });
    const { schema } = dataSource.options as { schema?: string };
    // In a transaction: a pooler in statement mode lends no session for one.
    const { advice, limits } = await connections.inTransaction((runner) =>
      checkStart(runner, options.schema, schema),
    );
    await createClock(connections, options);
    for (const message of advice) events.emit('advice', { message });
    await begin(limits);
  } catch (error) {
    await connections.close();
    // After a failed start Nest calls no hook.
    await closeIfOurs(dataSource);
    throw startError(error, options.schema);
  }
}

/** Creates the test clock of a schema under test. A production schema has none. */
async function createClock(
  connections: EngineConnections,
  { installation }: ResolvedOptions,
): Promise<void> {
  if (installation.clock === 'database') return;
  try {
    await new TestClockStore(connections, installation).create();
  } catch (error) {
    if (readSqlState(error) !== PERMISSION_DENIED) throw error;
    throw new DelayConfigError(
      `${(error as Error).message}. A node under test creates a clock in the schema ${installation.schema}: run the tests ` +
        'as the role that owns it',
      { cause: error },
    );
  }
}

const NO_POOL_OF_PG =
  'the pool of the DataSource is not one of pg, as with pg-mem, and delays need a real Postgres: test with one, or ' +
  'without a database by provideDelayStub() of nestjs-delay-queue/testing';

const NOT_INITIALIZED =
  'the DataSource is not initialized: await its initialize() where it is provided (in an async useFactory, for ' +
  'example) or in onModuleInit; TypeOrmModule does so unless manualInitialization is set';

/** The name of a handler that is spelled almost like this one. */
export const suggest = (name: string, names: readonly string[]): string | undefined =>
  nearest(name, names, Math.min(2, Math.floor(name.length / 4)));
