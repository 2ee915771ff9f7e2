/** Where an application's delays live, and the clock that its statements read. */
export interface Installation {
  schema: string;
  /** `'test'`: a clock that tests move (docs/adr/0003). */
  clock: 'database' | 'test';
}

/** The tables that the migrations create, by their names in the code. */
const TABLES = {
  delay: 'delay',
  history: 'history',
  node: 'node',
  pause: 'pause',
  /** Limits that a claim has met. */
  quota: 'quota',
  /** Attempts that count against a limit. */
  permit: 'permit',
  /** Calls that wait for the run of their key to end, to run it once more. */
  rerun: 'rerun',
  /** Claims whose attempts must abort. */
  abort: 'abort',
  /** What viewers of the dashboard have changed. */
  operation: 'operation',
  /** The delays of each operation. */
  operationChange: 'operation_change',
} as const;

type TableName = keyof typeof TABLES;

const TABLE_NAMES = Object.keys(TABLES) as TableName[];

/** The tables of one installation, quoted for SQL text, and its clock. */
export interface Tables extends Record<TableName, string> {
  schema: string;
  /** SQL for now, on the only clock that decides an instant. */
  now: string;
  /** A test moves that clock. */
  isTested: boolean;
  /** The state of the test clock; it exists only where there are tests. */
  testingClock: string;
}

/**
 * @param of the installation, or its schema if its clock is the database's; `checkSchema` has
 * accepted that
 */
export function qualifiedTables(of: string | Installation): Tables {
  const { schema, clock } = typeof of === 'string' ? { schema: of, clock: 'database' } : of;
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const isTested = clock === 'test';
  const tables = TABLE_NAMES.map((name) => [name, `${quoted}.${TABLES[name]}`]);
  return {
    ...(Object.fromEntries(tables) as Record<TableName, string>),
    schema: quoted,
    now: isTested ? `${quoted}.testing_now()` : 'pg_catalog.clock_timestamp()',
    isTested,
    testingClock: `${quoted}.testing_clock`,
  };
}

/** Tables that the migrations create. */
export const allTables = (tables: Tables): string[] => TABLE_NAMES.map((name) => tables[name]);

/** Its tables, its functions and itself, as messages of the server name them. */
export const ownNames = (schema: string): ReadonlySet<string> =>
  new Set([
    schema,
    ...Object.values(TABLES),
    'delay_id_seq',
    'schedule_one',
    'cancel_one',
    'testing_schedule_one',
    'testing_cancel_one',
  ]);

/**
 * Begins a statement that calls no other volatile function: without one, a balancer such as pgpool
 * sends it to a standby. Nothing reads it, so Postgres does not run it.
 */
export const ON_PRIMARY = 'WITH here AS (SELECT pg_catalog.clock_timestamp())';

/** A function of the schema; those that read a test's clock have different names. */
export const functionName = ({ schema, isTested }: Tables, name: string): string =>
  `${schema}.${isTested ? 'testing_' : ''}${name}`;

/**
 * SQL for an instant in whole milliseconds, rounded up, as a JavaScript `Date` holds it: never
 * early.
 */
export const wholeMs = (instant: string): string =>
  `pg_catalog.date_trunc('milliseconds', ${instant} + interval '999 microseconds')`;

/**
 * SQL for an instant plus milliseconds: `interval '14 days'` is 335 or 337 hours across a change of
 * daylight saving time.
 */
export const plusMs = (instant: string, ms: string): string =>
  `${instant} + ${ms} * interval '1 millisecond'`;

/** SQL for a due time moved on by milliseconds, up to the end of the year 9999 as for `at`. */
export const extendedMs = (due: string, ms: string): string =>
  `LEAST(${plusMs(due, ms)}, timestamptz '9999-12-31 23:59:59.999+00')`;

/*
 * Instants as numbers since 1970. No answer is a float8, whose digits depend on
 * `extra_float_digits`: see `answers.ts`.
 */

/** SQL for an instant in milliseconds, to the microsecond: `numeric`, exact in any year. */
export const epochMs = (instant: string): string => `(extract(epoch FROM ${instant}) * 1e3)`;

/** SQL for how many milliseconds ago an instant was; NULL stays NULL. Minus infinity counts as the year 1. */
export const ageMs = (now: string, instant: string): string =>
  epochMs(
    `${now} - CASE WHEN ${instant} IS NOT NULL THEN GREATEST(${instant}, '0001-01-01 00:00:00+00'::timestamptz) END`,
  );

/** As {@link epochMs}, within the range of a `Date`, also for an infinite instant. LEAST would take no NULL. */
export const dateMs = (instant: string): string =>
  `CASE WHEN ${instant} IS NOT NULL THEN GREATEST(LEAST(${epochMs(instant)}, 8.64e15), -8.64e15) END`;

/** Infinity, and years beyond a `Date`, become its last instant: a cast of them would fail. */
const inDates = (number: string, most: string): string =>
  `GREATEST(LEAST(${number}, ${most}), -${most})::bigint`;

/** SQL for an instant of whole milliseconds, in a tenth of the time of `numeric`. */
export const wholeEpochMs = (instant: string): string =>
  inDates(`pg_catalog.date_part('epoch', ${instant}) * 1e3::float8`, '8.64e15');

/** A present instant in microseconds, as fast. From the year 2242 on, its seconds are too large. */
export const presentEpochUs = (instant: string): string =>
  inDates(`pg_catalog.date_part('epoch', ${instant}) * 1e6::float8`, '8.64e18');

/** SQL for a row's next epoch. The last one stays: its successor would fail the statement. */
export const nextEpoch = (row: string): string => `LEAST(${row}.epoch, 9223372036854775806) + 1`;

/**
 * The wake of a row: the later of `wake_at` and the end of its lease. A lease without an end, which
 * no node writes, does not count, or no node would ever take the row over.
 */
export const wakeSql = (row: string): string =>
  `GREATEST(${row}.wake_at, NULLIF(${row}.leased_until, 'infinity'))`;
