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
const NOW_MS = `floor(date_part('epoch', (SELECT now FROM clock)) * 1e3)::bigint`;

/** SQL for the log of `d` with the attempt that begins on that node. */
export const begunAttempt = (node: string): string =>
  `CASE WHEN jsonb_typeof(d.attempt_log) <> 'array' THEN '[]'
             WHEN jsonb_array_length(d.attempt_log) >= ${KEPT_MAX} THEN d.attempt_log - 0
             ELSE COALESCE(d.attempt_log, '[]') END
        || jsonb_build_array(jsonb_build_object('attempt', d.attempts + 1, 'node', ${node},
                                                'startedMs', ${NOW_MS}))`;

/**
 * SQL for the log of a row whose last attempt ends now. NULL stays NULL: a node that keeps no attempts has claimed the row.
 *
 * @param outcome SQL for a word of `AttemptOutcome`
 * @param error SQL for its text, if it may have one
 */
export const endedAttempt = (row: string, outcome: string, error?: string): string => {
  const end = `'outcome', ${outcome}, 'endedMs', ${NOW_MS}`;
  if (error === undefined) return completed(row, `jsonb_build_object(${end})`);
  const text = `'error', left(${error}, ${ERROR_LENGTH_MAX})`;
  return completed(row, `jsonb_strip_nulls(jsonb_build_object(${end}, ${text}))`);
};

/** SQL for the log of a row that was taken over from a process that is silent. */
export const lostAttempt = (row: string): string => completed(row, `'{"outcome": "lost"}'`);

/** An end that is written already stays: that of a dying delay is written once more. */
const completed = (row: string, end: string): string =>
  `CASE WHEN (${row}.attempt_log -> -1) ? 'outcome' THEN ${row}.attempt_log
             ELSE jsonb_set(${row}.attempt_log, '{-1}', ${row}.attempt_log -> -1 || ${end}) END`;

/** SQL for the log of a row whose last claim called no handler. */
export const withoutLastAttempt = (row: string): string =>
  `CASE WHEN jsonb_typeof(${row}.attempt_log) = 'array' THEN NULLIF(${row}.attempt_log - -1, '[]') END`;
