/*
 * The attempts of a delay, where history keeps them: a JSON array in its row, which its line of history takes over. A claim
 * adds an entry, and the write that ends the attempt completes it. One without an end runs, or was lost: so
 * a node that takes a row from a process that died has nothing to write. There is a CTE `clock`. A log that is no array, which
 * another hand wrote, fails no statement: it begins anew.
 */

/** So many are kept: the last ones. */
const KEPT_MAX = 50;

const ERROR_LENGTH_MAX = 1_000;

/** As a JavaScript `Date` has it. */
const NOW_MS = `pg_catalog.floor(pg_catalog.date_part('epoch', (SELECT now FROM clock)) * 1e3::float8)::bigint`;

/** SQL for the log of `d` with the attempt that begins on that node. */
export const begunAttempt = (node: string): string =>
  `CASE WHEN pg_catalog.jsonb_typeof(d.attempt_log) <> 'array' THEN '[]'
             WHEN pg_catalog.jsonb_array_length(d.attempt_log) >= ${KEPT_MAX} THEN d.attempt_log - 0
             ELSE COALESCE(d.attempt_log, '[]') END
        || pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('attempt', d.attempts + 1, 'node', ${node},
                                                'startedMs', ${NOW_MS}))`;

/**
 * SQL for the log of a row whose last attempt ends now. NULL stays NULL: a node that keeps no attempts has claimed the row.
 *
 * @param outcome SQL for a word of `AttemptOutcome`
 * @param error SQL for its text, if it may have one
 */
export const endedAttempt = (row: string, outcome: string, error?: string): string => {
  const end = `'outcome', ${outcome}, 'endedMs', ${NOW_MS}`;
  if (error === undefined) return completed(row, `pg_catalog.jsonb_build_object(${end})`);
  const text = `'error', pg_catalog.left(${error}, ${ERROR_LENGTH_MAX})`;
  return completed(
    row,
    `pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(${end}, ${text}))`,
  );
};

/** SQL for the log of a row that was taken over from a process that is silent. */
export const lostAttempt = (row: string): string => completed(row, `'{"outcome": "lost"}'`);

/** An end that is written already stays: that of a dying delay is written once more. */
const completed = (row: string, end: string): string =>
  `CASE WHEN (${row}.attempt_log -> -1) ? 'outcome'::text THEN ${row}.attempt_log
             ELSE pg_catalog.jsonb_set(${row}.attempt_log, '{-1}', ${row}.attempt_log -> -1 || ${end}) END`;

/** SQL for the log of a row whose last claim called no handler. */
export const withoutLastAttempt = (row: string): string =>
  `CASE WHEN pg_catalog.jsonb_typeof(${row}.attempt_log) = 'array' THEN NULLIF(${row}.attempt_log - -1, '[]') END`;
