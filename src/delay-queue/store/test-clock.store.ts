import { given, type Runner, type Transactor } from '../database/runner.js';
import { type Installation, plusMs, type Tables, tablesOf } from '../database/tables.js';
import type { AsText } from './rows/answers.js';
import { orHeld } from './selection.store.js';
import { flowSql, goOnSql, standSql, testClockSql, wipeSql } from './sql/testing.sql.js';
import { createFunctions, functionsOf } from './tables/functions.js';
import { takeAdvisoryLock } from './tables/preflight.js';

/*
 * The test clock: a row of the schema, which each statement of a node under test reads instead of
 * `clock_timestamp()`. It runs ahead of the database's clock by some time, or stands at an instant.
 * The first node under test creates it in a schema (docs/adr/0030).
 */

/** `is_set`: a test set the clock, and it stays; if not, it stands for one `DelayTesting` call. */
const createTable = ({ testingClock }: Tables): string => `
CREATE TABLE IF NOT EXISTS ${testingClock} (
  is_there  boolean PRIMARY KEY DEFAULT true CHECK (is_there),
  is_set    boolean NOT NULL,
  ahead_ms  bigint NOT NULL,
  stands_at timestamptz
)`;

/**
 * Without the row, which a test may have deleted, it is the database's clock. SECURITY DEFINER, so
 * that callers need no right to read the table.
 */
const createNow = ({ now, testingClock }: Tables): string => `
CREATE OR REPLACE FUNCTION ${now} RETURNS timestamptz
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  SELECT COALESCE((SELECT COALESCE(c.stands_at, ${plusMs('pg_catalog.clock_timestamp()', 'c.ahead_ms::float8')}) FROM ${testingClock} c),
                  pg_catalog.clock_timestamp())
$function$`;

/** Held while the clock is created. */
export const TEST_CLOCK_LOCK = 'nestjs-delay-queue testing';

/** Statements that create the clock, in one transaction under that lock; each may run again. */
export const createTestClock = (tables: Tables): string[] => [
  createTable(tables),
  createNow(tables),
  ...createFunctions(tables),
];

/** Statements that remove the clock, if there is one. */
export const dropTestClock = (tables: Tables): string[] => [
  `DROP FUNCTION IF EXISTS ${[tables.now, ...functionsOf(tables)].join(', ')}`,
  `DROP TABLE IF EXISTS ${tables.testingClock}`,
];

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
    const tables = tablesOf(of);
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
      await takeAdvisoryLock(
        (sql, parameters) => runner.query(sql, parameters),
        TEST_CLOCK_LOCK,
        'the clock of tests',
        CREATES_WITHIN_MS,
      );
      for (const statement of this.#create) await runner.query(statement, []);
    });
  }

  async read(): Promise<TestClockState> {
    const [row] = await this.connections.query<
      AsText<'is_set' | 'ahead_ms' | 'database_ms', 'stands_ms'>
    >(this.#sql.read, []);
    const found = given(row);
    return {
      standsMs: found.stands_ms === null ? null : Number(found.stands_ms),
      isSet: found.is_set === 'true',
      aheadMs: Number(found.ahead_ms),
      databaseMs: Number(found.database_ms),
    };
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
