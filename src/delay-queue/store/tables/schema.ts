/** The tables of one installation, quoted and ready to stand in SQL text. */
export interface Tables {
  schema: string;
  delay: string;
  history: string;
  node: string;
  pause: string;
  /** Limits that a claim has met. */
  quota: string;
  /** Attempts that count for a limit. */
  permit: string;
}

/**
 * @param schema a name that `checkSchema` has accepted; it is quoted all the same, because
 * identifiers cannot travel as parameters
 */
export function tablesOf(schema: string): Tables {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  return {
    schema: quoted,
    delay: `${quoted}.delay`,
    history: `${quoted}.history`,
    node: `${quoted}.node`,
    pause: `${quoted}.pause`,
    quota: `${quoted}.quota`,
    permit: `${quoted}.permit`,
  };
}

/**
 * SQL for an instant at whole milliseconds, rounded up: a JavaScript `Date` holds no more, so the
 * `dueAt` a caller gets back is exactly what the row says, and rounding up is never early.
 */
export const wholeMs = (instant: string): string =>
  `date_trunc('milliseconds', ${instant} + interval '999 microseconds')`;

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
export const epochMs = (instant: string): string => `(extract(epoch FROM ${instant}) * 1000)`;

/** The same for an instant that is known to be at whole milliseconds; a tenth of the time of `numeric`. */
export const wholeEpochMs = (instant: string): string =>
  `(date_part('epoch', ${instant}) * 1e3)::bigint`;

/**
 * An instant of our days as microseconds, and as quick: beyond the year 2242 the seconds of `date_part`
 * are too large for that.
 */
export const presentEpochUs = (instant: string): string =>
  `(date_part('epoch', ${instant}) * 1e6)::bigint`;

/** The wake of a row: the later of `wake_at` and the end of its lease. GREATEST ignores NULL. */
export const wakeOf = (row: string): string => `GREATEST(${row}.wake_at, ${row}.leased_until)`;
