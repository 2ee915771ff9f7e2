import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { DelayConfigError } from '../../api/errors.js';
import type { Duration } from '../../api/delay.js';
import { atStart } from '../../config/refusals.js';
import { durationIn } from '../../config/durations.js';
import { checkConnection, checkSchema } from '../../config/options.js';
import { LOCK_WITHIN_MS, takeAdvisoryLock } from '../../database/advisory-lock.js';
import { withRunner } from '../../database/pg-data-source.js';
import { givenPoolOptions, isDataSource } from '../../database/postgres-driver.js';
import { allTables, ON_PRIMARY, type Tables, qualifiedTables } from '../../database/tables.js';
import { completeTables } from '../checks/drift.js';
import { refusal } from '../checks/finding.js';
import { findStranger } from '../checks/owners.js';
import { rowConstraints } from '../rows/row-rules.js';
import { createFunctions, dropTestClock, functionSignatures } from './functions.js';
import { createPublicFunctions, dropPublicFunctions } from './public-functions.js';

/** A class that TypeORM accepts in `DataSourceOptions.migrations`. */
export type MigrationClass = new () => MigrationInterface;

/**
 * The library's migrations, to list beside your own:
 *
 * ```ts
 * new DataSource({ type: 'postgres', migrations: [...delayQueueMigrations(), ...mine] });
 * ```
 *
 * They may run twice, and take an advisory lock, so two nodes may run them at once. Each node waits
 * up to a minute for the lock.
 *
 * @param options.schema the schema for the tables, which holds nothing else; default `delay_queue`
 * @throws DelayConfigError when the schema's name is not a plain lower-case identifier; from `up`,
 * when another session keeps the lock, another role owns something in the schema, or tables of
 * another build have other columns; from `down`, while the tables hold delays, dead letters included,
 * history, pauses or operations
 */
export function delayQueueMigrations(options: { schema?: string } = {}): MigrationClass[] {
  const { schema: given = 'delay_queue' } = options;
  const schema = atStart('delayQueueMigrations', () => checkSchema(given));
  const tables = qualifiedTables(schema);
  const suffix = schema === 'delay_queue' ? '' : `_${schema}_`;

  class DelayQueue implements MigrationInterface {
    // TypeORM orders migrations by the digits at the end.
    readonly name = `DelayQueue${suffix}1760000000000`;

    up(runner: QueryRunner): Promise<void> {
      return createAll(runner, schema);
    }

    async down(runner: QueryRunner): Promise<void> {
      await onOwnPath(runner, async () => {
        await refuseToForget(runner, tables);
        for (const statement of dropPublicFunctions(tables)) await runner.query(statement);
        await runner.query(`DROP FUNCTION ${functionSignatures(tables).join(', ')}`);
        const tested = qualifiedTables({ schema, clock: 'test' });
        for (const statement of dropTestClock(tested)) await runner.query(statement);
        await runner.query(`DROP TABLE ${allTables(tables).join(', ')}`);
        await runner.query(`DROP SCHEMA ${tables.schema}`);
      });
    }
  }
  return [DelayQueue];
}

/** Creates the schema with all that belongs to it, or what is missing of it. */
async function createAll(
  runner: QueryRunner,
  schema: string,
  waitMs = LOCK_WITHIN_MS,
): Promise<void> {
  const tables = qualifiedTables(schema);
  await onOwnPath(runner, async () => {
    const lock = `nestjs-delay-queue migrations ${schema}`;
    await takeAdvisoryLock(runner, lock, `the migration of the schema ${schema}`, waitMs);
    const [found] = (await runner.query(
      `${ON_PRIMARY} SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)::text AS there`,
      [schema],
    )) as { there: string }[];
    // IF NOT EXISTS needs the right to create a schema even where it exists.
    const isThere = found?.there === 'true';
    const stranger = isThere ? await findStranger(runner, schema, true) : undefined;
    if (stranger !== undefined) throw refusal(stranger);
    if (!isThere) await runner.query(`CREATE SCHEMA ${tables.schema}`);
    const statements = createStatements(tables);
    for (const statement of statements.filter(isTable)) await runner.query(statement);
    if (isThere) await completeTables(runner, schema);
    const others = statements.filter((statement) => !isTable(statement));
    const functions = [...createFunctions(tables), ...createPublicFunctions(tables)];
    for (const statement of [...others, ...functions]) await runner.query(statement);
  });
}

const isTable = (statement: string): boolean => statement.startsWith('CREATE TABLE');

/** @throws DelayConfigError that names what is there: no call may add to it before the drop */
async function refuseToForget(runner: QueryRunner, tables: Tables): Promise<void> {
  const { delay, history, rerun, pause, operation } = tables;
  const kept: [what: string, table: string, where?: string][] = [
    ['live delays', delay, `wake_at < 'infinity'`],
    ['dead letters', delay, `wake_at = 'infinity'`],
    ['reruns', rerun],
    ['history', history],
    ['pauses', pause],
    ['operations of the dashboard', operation],
  ];
  const all = [...new Set(kept.map(([, table]) => table))].join(', ');
  await runner.query(`LOCK TABLE ${all} IN ACCESS EXCLUSIVE MODE`);
  const words = kept.map(
    ([what, table, where = 'true']) =>
      `CASE WHEN EXISTS (SELECT FROM ${table} WHERE ${where}) THEN '${what}' END`,
  );
  const [found] = (await runner.query(
    `${ON_PRIMARY} SELECT pg_catalog.concat_ws(', ', ${words.join(', ')}) AS held`,
  )) as { held: string }[];
  if (!found?.held) return;
  throw new DelayConfigError(
    `the schema ${tables.schema} still holds ${found.held}, and to revert this migration drops them. Nothing was ` +
      `changed. Keep a dump of what you need; then TRUNCATE ${all}, and revert again`,
  );
}

/** What the migrations run in a database without the tables; each statement may run again. */
export function migrationStatements(schema: string): string[] {
  const tables = qualifiedTables(schema);
  return [
    `CREATE SCHEMA IF NOT EXISTS ${tables.schema}`,
    ...createStatements(tables),
    ...createFunctions(tables),
    ...createPublicFunctions(tables),
  ];
}

/**
 * Runs `work` in one transaction, where every unqualified name is one of Postgres's own: another
 * role may have created a function in a schema of the path, and this session has the owner's
 * rights.
 */
async function onOwnPath(runner: QueryRunner, work: () => Promise<void>): Promise<void> {
  // TypeORM's transaction, or our own where the user chose `migrationsTransactionMode: 'none'`.
  const isOurs = !runner.isTransactionActive;
  if (isOurs) await runner.startTransaction();
  try {
    const [found] = (await runner.query(
      `${ON_PRIMARY} SELECT pg_catalog.current_setting('search_path') AS path`,
    )) as { path: string }[];
    await setPath(runner, 'pg_catalog, pg_temp');
    await work();
    await setPath(runner, found?.path ?? '');
    if (isOurs) await runner.commitTransaction();
  } catch (error) {
    if (isOurs) await runner.rollbackTransaction();
    throw error;
  }
}

const setPath = (runner: QueryRunner, path: string): Promise<unknown> =>
  runner.query(`SELECT pg_catalog.set_config('search_path', $1, true)`, [path]);

/** Each statement may run again. Columns go from fixed to variable width: no padding. */
function createStatements({
  delay,
  history,
  node,
  pause,
  quota,
  permit,
  rerun,
  abort,
  operation,
  operationChange,
}: Tables): string[] {
  return [
    // Fillfactor: half of each page stays free, so that a claim, which changes no indexed column,
    // is a HOT update. docs/adr/0002 has the measurement.
    `CREATE TABLE IF NOT EXISTS ${delay} (
       id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
       due_at       timestamptz NOT NULL,
       wake_at      timestamptz NOT NULL,
       leased_until timestamptz,
       lease_lock   bigint,
       created_at   timestamptz NOT NULL,
       epoch        bigint NOT NULL DEFAULT 0,
       attempts     integer NOT NULL DEFAULT 0,
       max_attempts integer,
       name         text COLLATE "C" NOT NULL,
       key          text COLLATE "C",
       payload      jsonb NOT NULL,
       leased_by    text,
       last_error   text,
       group_id     text COLLATE "C",
       headers      jsonb,
       repeat       jsonb,
       attempt_log  jsonb,
       refused_by   text[],
       move_log     jsonb,
       CHECK ((leased_by IS NULL) = (leased_until IS NULL)),
       ${rowConstraints()}
     ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02,
             autovacuum_analyze_scale_factor = 0.05)`,
    // Time leads, never name: before Postgres 18 an index that leads with the name makes every
    // empty poll walk all future rows. The predicate holds for every row. It follows from any
    // condition on wake_at, but not from one on id: while statistics say that the table is empty,
    // any index looks as good as another, and a plan that looks for ids in this one walks all of it
    // (docs/adr/0017).
    `CREATE INDEX IF NOT EXISTS delay_wake ON ${delay} (wake_at, id) WHERE wake_at IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS delay_key ON ${delay} (name, key) WHERE key IS NOT NULL`,
    // Only rows with a group pay for it.
    `CREATE INDEX IF NOT EXISTS delay_group ON ${delay} (group_id, id) WHERE group_id IS NOT NULL`,
    // Recurring delays are few, and every start looks for them.
    `CREATE INDEX IF NOT EXISTS delay_repeat ON ${delay} (name) WHERE repeat IS NOT NULL`,
    // (id, epoch) identifies one end of one delay; ended_at in front serves the pruner.
    `CREATE TABLE IF NOT EXISTS ${history} (
       id         bigint NOT NULL,
       ended_at   timestamptz NOT NULL,
       due_at     timestamptz NOT NULL,
       created_at timestamptz NOT NULL,
       lateness_ms float8,
       epoch      bigint NOT NULL,
       attempts   integer NOT NULL,
       state      text COLLATE "C" NOT NULL,
       name       text COLLATE "C" NOT NULL,
       key        text COLLATE "C",
       node       text,
       error      text,
       attempt_log jsonb,
       group_id   text COLLATE "C",
       headers    jsonb,
       move_log   jsonb,
       ended_by   text,
       PRIMARY KEY (ended_at, id, epoch)
     )`,
    `CREATE INDEX IF NOT EXISTS history_key ON ${history} (name, key, ended_at)
       WHERE key IS NOT NULL`,
    // Only rows with a group pay for it.
    `CREATE INDEX IF NOT EXISTS history_group ON ${history} (group_id, ended_at)
       WHERE group_id IS NOT NULL`,
    // idle_until: the end of its silence; NULL while not idle. declared_at: when it first declared.
    `CREATE TABLE IF NOT EXISTS ${node} (
       id         text COLLATE "C" PRIMARY KEY,
       names      text[] NOT NULL,
       present    boolean NOT NULL,
       started_at timestamptz NOT NULL,
       seen_at    timestamptz NOT NULL,
       idle_until timestamptz,
       declared_at timestamptz,
       deployment text,
       instance   text COLLATE "C",
       CONSTRAINT node_instants_readable
         CHECK (isfinite(started_at) AND isfinite(seen_at) AND isfinite(idle_until) IS NOT FALSE
           AND isfinite(declared_at) IS NOT FALSE)
     ) WITH (fillfactor = 50)`,
    // The group '' is the whole name.
    `CREATE TABLE IF NOT EXISTS ${pause} (
       paused_at timestamptz NOT NULL,
       until     timestamptz NOT NULL,
       name      text COLLATE "C" NOT NULL,
       group_id  text COLLATE "C" NOT NULL,
       reason    text,
       paused_by text,
       PRIMARY KEY (name, group_id),
       CONSTRAINT pause_paused_at_readable CHECK (isfinite(paused_at))
     )`,
    // A claim under a limit locks its row; `tokens` is what it left of the rate. '' is the whole
    // name. full_since: since then no claim has left a slot, because the rate is used up until
    // full_until, or full_slots attempts run.
    `CREATE TABLE IF NOT EXISTS ${quota} (
       filled_at timestamptz NOT NULL,
       full_since timestamptz,
       full_until timestamptz,
       full_slots integer,
       tokens    float8 NOT NULL,
       name      text COLLATE "C" NOT NULL,
       group_id  text COLLATE "C" NOT NULL,
       PRIMARY KEY (name, group_id),
       CONSTRAINT quota_readable CHECK (isfinite(filled_at) AND tokens >= 0)
     ) WITH (fillfactor = 50)`,
    // A permit counts while that claim of the delay holds, so it need not be given back.
    `CREATE TABLE IF NOT EXISTS ${permit} (
       id       bigint NOT NULL,
       epoch    bigint NOT NULL,
       name     text COLLATE "C" NOT NULL,
       group_id text COLLATE "C" NOT NULL,
       PRIMARY KEY (name, group_id, id, epoch)
     )`,
    // Not in `delay`, whose row a running attempt may lock. asked_at: of the last call; created_at:
    // of the first that maxWait counts from.
    `CREATE TABLE IF NOT EXISTS ${rerun} (
       id           bigint NOT NULL,
       due_at       timestamptz NOT NULL CONSTRAINT rerun_due_at_readable CHECK (isfinite(due_at)),
       asked_at     timestamptz NOT NULL,
       created_at   timestamptz NOT NULL,
       max_wait_ms  float8,
       max_attempts integer,
       name         text COLLATE "C" NOT NULL,
       key          text COLLATE "C" NOT NULL,
       payload      jsonb NOT NULL,
       group_id     text COLLATE "C",
       headers      jsonb,
       PRIMARY KEY (name, key)
     ) WITH (fillfactor = 50)`,
    // Not in `delay` either. Rows and not messages, because any login that may connect can NOTIFY.
    `CREATE TABLE IF NOT EXISTS ${abort} (
       id       bigint NOT NULL,
       epoch    bigint NOT NULL,
       asked_at timestamptz NOT NULL,
       PRIMARY KEY (id, epoch)
     )`,
    // What the dashboard's viewers have changed. The id is the microsecond of its start: it sorts by
    // time, and needs no sequence, which a copy of the rows lacks. ended_as: NULL until it has ended;
    // until then its process sets seen_at. asked: the order, without a payload. scope: the names
    // and groups that limit its viewer.
    `CREATE TABLE IF NOT EXISTS ${operation} (
       id         bigint PRIMARY KEY,
       started_at timestamptz NOT NULL,
       seen_at    timestamptz NOT NULL,
       ended_at   timestamptz,
       expected   bigint,
       expected_is text,
       stop_asked boolean NOT NULL DEFAULT false,
       action     text COLLATE "C" NOT NULL,
       who        text COLLATE "C" NOT NULL,
       node       text NOT NULL,
       why        text,
       asked      jsonb NOT NULL,
       scope      jsonb NOT NULL DEFAULT '{"names": null, "groups": null}',
       ended_as   text,
       counts     jsonb NOT NULL,
       error      text
     ) WITH (fillfactor = 50)`,
    // The first delays that it has changed, in that order.
    `CREATE TABLE IF NOT EXISTS ${operationChange} (
       operation_id bigint NOT NULL,
       delay_id bigint NOT NULL,
       ord      integer NOT NULL,
       name     text COLLATE "C" NOT NULL,
       key      text COLLATE "C",
       verdict  text NOT NULL,
       PRIMARY KEY (operation_id, ord)
     )`,
    `CREATE INDEX IF NOT EXISTS operation_change_key ON ${operationChange} (key, operation_id)
       WHERE key IS NOT NULL`,
  ];
}

/**
 * Runs a DataSource's pending migrations under an advisory lock, so that any number of nodes may
 * start on an empty database at once. TypeORM takes no lock: two nodes that create its `migrations`
 * table at once end with a unique violation.
 *
 * ```ts
 * await dataSource.initialize();
 * await runMigrations(dataSource);
 * ```
 *
 * Given a connection instead, it creates the library's own tables, or what is missing of them:
 * `await runMigrations(process.env.DATABASE_URL)`.
 *
 * @param options.schema of a connection; default `delay_queue`
 * @param options.wait longest wait for another session's lock; default `'1m'`, 1 ms to 24 h
 * @throws DelayConfigError when the pool has one connection, or when the wait is over, naming the
 * session with the lock; also what `dataSource.runMigrations()` throws. It always releases the
 * lock.
 */
export async function runMigrations(
  where: DataSource | string | object,
  options: { wait?: Duration; schema?: string } = {},
): Promise<void> {
  const { wait = LOCK_WITHIN_MS, schema = 'delay_queue' } = options;
  const waitMs = atStart('runMigrations', () => durationIn('1ms', '24h')(wait, 'wait'));
  const name = atStart('runMigrations', () => checkSchema(schema));
  const connection = isDataSource(where)
    ? undefined
    : atStart('runMigrations', () => checkConnection(where, 'connection'));
  if (connection !== undefined) {
    return await withRunner(connection, (runner) => createAll(runner, name, waitMs));
  }
  const dataSource = where as DataSource;
  const { max: poolMax = Infinity } = givenPoolOptions(dataSource);
  if (poolMax < 2) {
    throw new DelayConfigError(
      `runMigrations needs a pool of at least 2 connections (poolSize), not ${poolMax}`,
    );
  }
  const keeper = dataSource.createQueryRunner();
  await keeper.connect();
  try {
    // A transaction's lock, not a session's: it also holds behind a pooler in transaction mode.
    await keeper.startTransaction();
    await takeAdvisoryLock(keeper, 'nestjs-delay-queue', 'runMigrations', waitMs);
    await dataSource.runMigrations();
    await keeper.commitTransaction();
  } catch (error) {
    if (keeper.isTransactionActive) await keeper.rollbackTransaction();
    throw error;
  } finally {
    await keeper.release();
  }
}
