/** Where an application's delays live, and the clock that its statements read. */
export interface Installation {
  schema: string;
  /** `'test'`: a clock that tests move (docs/adr/0030). */
  clock: 'database' | 'test';
}

/** The tables of one installation, quoted for SQL text, and its clock. */
export interface Tables {
  schema: string;
  /** SQL for now, on the only clock that decides an instant. */
  now: string;
  /** A test moves that clock. */
  isTested: boolean;
  delay: string;
  history: string;
  node: string;
  pause: string;
  /** Limits that a claim has met. */
  quota: string;
  /** Attempts that count against a limit. */
  permit: string;
  /** Calls that wait for the run of their key to end, to run it once more. */
  rerun: string;
  /** Claims whose attempts must abort. */
  abort: string;
  /** What viewers of the dashboard have changed. */
  operation: string;
  /** The delays of each operation. */
  operationChange: string;
  /** The state of the test clock; it exists only where there are tests. */
  testingClock: string;
}

/**
 * @param of the installation, or its schema if its clock is the database's; the schema is quoted
 * even though `checkSchema` has accepted it, because identifiers cannot be parameters
 */
export function tablesOf(of: string | Installation): Tables {
  const { schema, clock } = typeof of === 'string' ? { schema: of, clock: 'database' } : of;
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const isTested = clock === 'test';
  return {
    schema: quoted,
    now: isTested ? `${quoted}.testing_now()` : 'pg_catalog.clock_timestamp()',
    isTested,
    delay: `${quoted}.delay`,
    history: `${quoted}.history`,
    node: `${quoted}.node`,
    pause: `${quoted}.pause`,
    quota: `${quoted}.quota`,
    permit: `${quoted}.permit`,
    rerun: `${quoted}.rerun`,
    abort: `${quoted}.abort`,
    operation: `${quoted}.operation`,
    operationChange: `${quoted}.operation_change`,
    testingClock: `${quoted}.testing_clock`,
  };
}

/** Those that the migrations create. */
export const allOf = (tables: Tables): string[] => [
  tables.delay,
  tables.history,
  tables.node,
  tables.pause,
  tables.quota,
  tables.permit,
  tables.rerun,
  tables.abort,
  tables.operation,
  tables.operationChange,
];

/** Its tables, its functions and itself, as messages of the server name them. */
export const namesOf = (schema: string): ReadonlySet<string> =>
  new Set([
    schema,
    'delay',
    'history',
    'node',
    'pause',
    'quota',
    'permit',
    'rerun',
    'abort',
    'operation',
    'operation_change',
    'delay_id_seq',
    'schedule_one',
    'cancel_one',
    'testing_schedule_one',
    'testing_cancel_one',
  ]);

/**
 * Begins a statement that calls no other volatile function: without one, a balancer such as pgpool
 * sends it to a standby, which may be behind. Nothing reads it, so Postgres does not run it.
 */
export const ON_PRIMARY = 'WITH here AS (SELECT pg_catalog.clock_timestamp())';

/** A function of the schema; those that read a test's clock have different names. */
export const functionOf = ({ schema, isTested }: Tables, name: string): string =>
  `${schema}.${isTested ? 'testing_' : ''}${name}`;

/**
 * SQL for an instant in whole milliseconds, rounded up. A JavaScript `Date` holds no more, so a
 * caller gets exactly the row's `dueAt`, and rounding up is never early.
 */
export const wholeMs = (instant: string): string =>
  `pg_catalog.date_trunc('milliseconds', ${instant} + interval '999 microseconds')`;

/**
 * SQL for an instant plus milliseconds. Not larger units: `interval '14 days'` is 335 or 337 hours
 * across a change of daylight saving time.
 */
export const plusMs = (instant: string, ms: string): string =>
  `${instant} + ${ms} * interval '1 millisecond'`;

/**
 * SQL for a due time moved on by milliseconds, up to the end of the year 9999 as for `at`: repeated
 * extensions would pass the last instant that Postgres knows.
 */
export const extendedMs = (due: string, ms: string): string =>
  `LEAST(${plusMs(due, ms)}, timestamptz '9999-12-31 23:59:59.999+00')`;

/*
 * Instants as numbers since 1970. No answer is a float8, whose digits depend on
 * `extra_float_digits`, and which applications parse as they like: each is cast to text (see
 * `answers.ts`).
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
 * The wake of a row: the later of `wake_at` and the end of its lease. GREATEST ignores NULL. A
 * lease without an end, which no node writes, does not count, or no node would ever take the row
 * over.
 */
export const wakeOf = (row: string): string =>
  `GREATEST(${row}.wake_at, NULLIF(${row}.leased_until, 'infinity'))`;
