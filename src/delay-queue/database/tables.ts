/** Where an application's delays live, and the clock that its statements read. */
export interface Installation {
  schema: string;
  /** `'test'`: a clock that tests move (docs/adr/0030). */
  clock: 'database' | 'test';
}

/** The tables of one installation, quoted and ready to stand in SQL text, and its clock. */
export interface Tables {
  schema: string;
  /** SQL for this moment: the only clock that decides an instant. */
  now: string;
  /** Tests move that clock. */
  isTested: boolean;
  delay: string;
  history: string;
  node: string;
  pause: string;
  /** Limits that a claim has met. */
  quota: string;
  /** Attempts that count for a limit. */
  permit: string;
  /** What keys that run now are to run once more with. */
  rerun: string;
  /** Claims whose attempts are to end. */
  abort: string;
  /** There only where there are tests: where their clock is. */
  testingClock: string;
}

/**
 * @param of the installation, or its schema where no test moves the clock: a name that `checkSchema` has accepted; it is
 * quoted all the same, because identifiers cannot travel as parameters
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
    testingClock: `${quoted}.testing_clock`,
  };
}

/** Its tables, its functions and itself, as messages of the server call them. */
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
    'delay_id_seq',
    'schedule_one',
    'cancel_one',
    'testing_schedule_one',
    'testing_cancel_one',
  ]);

/** A function of the schema. Those that read the clock of a test have names of their own. */
export const functionOf = ({ schema, isTested }: Tables, name: string): string =>
  `${schema}.${isTested ? 'testing_' : ''}${name}`;

/**
 * SQL for an instant at whole milliseconds, rounded up: a JavaScript `Date` holds no more, so the
 * `dueAt` a caller gets back is exactly what the row says, and rounding up is never early.
 */
export const wholeMs = (instant: string): string =>
  `pg_catalog.date_trunc('milliseconds', ${instant} + interval '999 microseconds')`;

/**
 * SQL for milliseconds added to an instant. Milliseconds and nothing larger: `interval '14 days'`
 * is 335 or 337 hours when it crosses a change of daylight saving time.
 */
export const plusMs = (instant: string, ms: string): string =>
  `${instant} + ${ms} * interval '1 millisecond'`;

/**
 * SQL for a due time moved on by milliseconds. It stops where `at` stops, at the end of the year
 * 9999: extended again and again it would pass the last instant that Postgres knows.
 */
export const extendedMs = (due: string, ms: string): string =>
  `LEAST(${plusMs(due, ms)}, timestamptz '9999-12-31 23:59:59.999+00')`;

/*
 * Instants as numbers since 1970. Never float8, whose text has as many digits as `extra_float_digits` lets it
 * have, and which applications parse as they like: every answer is cast to text (see `answers.ts`).
 */

/** SQL for an instant as milliseconds, to the microsecond: `numeric`, exact in any year. */
export const epochMs = (instant: string): string => `(extract(epoch FROM ${instant}) * 1e3)`;

/** The same as a number that makes a `Date` of any instant, also of an infinite one. */
export const dateMs = (instant: string): string =>
  `GREATEST(LEAST(${epochMs(instant)}, 8.64e15), -8.64e15)`;

/** Infinity, and years that no `Date` has, become the last instant that one has: a cast would fail, and all its statement. */
const inDates = (number: string, most: string): string =>
  `GREATEST(LEAST(${number}, ${most}), -${most})::bigint`;

/** The same for an instant that is known to be at whole milliseconds; a tenth of the time of `numeric`. */
export const wholeEpochMs = (instant: string): string =>
  inDates(`pg_catalog.date_part('epoch', ${instant}) * 1e3::float8`, '8.64e15');

/**
 * An instant of our days as microseconds, and as quick: beyond the year 2242 the seconds of `date_part`
 * are too large for that.
 */
export const presentEpochUs = (instant: string): string =>
  inDates(`pg_catalog.date_part('epoch', ${instant}) * 1e6::float8`, '8.64e18');

/** SQL for the epoch after that of a row. The last number there is has none, and would fail the caller's statement. */
export const nextEpoch = (row: string): string => `LEAST(${row}.epoch, 9223372036854775806) + 1`;

/**
 * The wake of a row: the later of `wake_at` and the end of its lease. GREATEST ignores NULL. A lease without an end, which no
 * node has written, is none: else no node would ever take the row over.
 */
export const wakeOf = (row: string): string =>
  `GREATEST(${row}.wake_at, NULLIF(${row}.leased_until, 'infinity'))`;
