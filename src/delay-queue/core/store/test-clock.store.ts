import { type Runner, type Transactor } from '../database/runner.js';
import { type Installation, qualifiedTables } from '../database/tables.js';
import { type AsText, readRow } from './rows/answers.js';
import { toNumber } from './rows/columns.js';
import { orHeld } from './held-rows.js';
import { flowSql, goOnSql, standSql, testClockSql, wipeSql } from './sql/testing.sql.js';
import { createTestClock, TEST_CLOCK_LOCK } from './tables/functions.js';
import { takeAdvisoryLock } from '../database/advisory-lock.js';

export interface TestClockState {
  /** Milliseconds since 1970; null: the clock runs. */
  standsMs: number | null;
  /** A test set the clock, so it stays where it stands. */
  isSet: boolean;
  aheadMs: number;
  /** The database's own clock. */
  databaseMs: number;
}

/** How long a wipe waits for locked rows: less than the time limit of test runners. */
const WIPES_WITHIN_MS = 3_000;

/** How long it waits for the lock under which other nodes create the same clock. */
const CREATES_WITHIN_MS = 10_000;

/** Reads and moves the test clock, on the engine's own connections. */
export class TestClockStore {
  readonly #sql;
  readonly #create: readonly string[];

  constructor(
    private readonly connections: Runner & Transactor,
    of: Installation,
  ) {
    const tables = qualifiedTables(of);
    this.#create = [...createTestClock(tables), goOnSql(tables)];
    this.#sql = {
      read: testClockSql(tables),
      stand: standSql(tables),
      flow: flowSql(tables),
      wipe: wipeSql(tables),
    };
  }

  async create(): Promise<void> {
    await this.connections.inTransaction(async (runner) => {
      await takeAdvisoryLock(runner, TEST_CLOCK_LOCK, 'the clock of tests', CREATES_WITHIN_MS);
      for (const statement of this.#create) await runner.query(statement, []);
    });
  }

  read(): Promise<TestClockState> {
    return readRow(this.connections, this.#sql.read, [], readState);
  }

  async stand(atMs: number, isSet: boolean): Promise<void> {
    await this.connections.query(this.#sql.stand, [atMs, isSet]);
  }

  async flow(fromMs: number): Promise<void> {
    await this.connections.query(this.#sql.flow, [fromMs]);
  }

  /** Empties all tables but `node`. @throws DelayUnstableError when a part is locked */
  async wipe(): Promise<void> {
    await this.connections.inTransaction((runner) =>
      orHeld(runner, WIPES_WITHIN_MS, async () => {
        await runner.query(
          `SELECT pg_catalog.set_config('lock_timeout', '${WIPES_WITHIN_MS}', true) AS set`,
          [],
        );
        await runner.query(this.#sql.wipe, []);
      }),
    );
  }
}

const readState = (
  found: AsText<'is_set' | 'ahead_ms' | 'database_ms', 'stands_ms'>,
): TestClockState => ({
  standsMs: toNumber(found.stands_ms),
  isSet: found.is_set === 'true',
  aheadMs: Number(found.ahead_ms),
  databaseMs: Number(found.database_ms),
});
