import type { HistoryKept, MoveCall } from '../../../api/history.js';
import { type Tables, wholeEpochMs } from '../../../database/tables.js';

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

/** What a line of history says of a delay that has ended; SQL each. */
interface HistoryRow {
  /** The alias of the row as it was. */
  of: string;
  /** Where it comes from. */
  from: string;
  where?: string;
  state: string;
  latenessMs?: string;
  /** Default: the node that had it leased. */
  node?: string;
  /** Default: the last error of the row. */
  error?: string;
  /** Default: what the row says. */
  attemptLog?: string;
}

/** A last CTE `ended` that writes history, or nothing where none is kept. There is a CTE `clock`. */
export function intoHistory(
  { history }: Tables,
  kept: HistoryKept,
  {
    of,
    from,
    where,
    state,
    latenessMs = 'NULL',
    node = `${of}.leased_by`,
    error = `${of}.last_error`,
    attemptLog = `${of}.attempt_log`,
  }: HistoryRow,
): string {
  if (kept === 'nothing') return '';
  const [column, log] = kept === 'attempts' ? [', attempt_log', `, ${attemptLog}`] : ['', ''];
  return `,
ended AS (
  INSERT INTO ${history} (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node, error,
    group_id, headers, move_log${column})
  SELECT ${of}.id, clock.now, ${of}.due_at, ${of}.created_at, ${latenessMs}, ${of}.epoch, ${of}.attempts,
         ${state}, ${of}.name, ${of}.key, ${node}, ${error},
         ${of}.group_id, ${of}.headers, ${of}.move_log${log}
  FROM ${from}, clock${where === undefined ? '' : `\n  WHERE ${where}`}
)`;
}

/** Columns of a row that only its line of history needs. */
export const logged = (kept: HistoryKept): string[] =>
  kept === 'nothing'
    ? []
    : ['group_id', 'headers', 'move_log', ...(kept === 'attempts' ? ['attempt_log'] : [])];

/** The same behind the last of other columns. */
export const andLogged = (kept: HistoryKept, of = ''): string =>
  logged(kept)
    .map((column) => `, ${of}${column}`)
    .join('');

/*
 * The moves of a delay's due time: a JSON array in its row, which its line of history takes over. The statement that moves it
 * writes the row anyway, so a move costs its entry and nothing else. There is a CTE `clock`.
 */

/** So many are kept: the last ones. */
const MOVES_KEPT_MAX = 20;

/** SQL for the log of the row `d`, whose due time becomes `due`. */
export const movedTo = (due: string, call: MoveCall): string =>
  `CASE WHEN pg_catalog.jsonb_typeof(d.move_log) <> 'array' THEN '[]'
             WHEN pg_catalog.jsonb_array_length(d.move_log) >= ${MOVES_KEPT_MAX} THEN d.move_log - 0
             ELSE COALESCE(d.move_log, '[]') END
        || pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('call', '${call}', 'atMs', pg_catalog.floor(pg_catalog.date_part('epoch', (SELECT now FROM clock)) * 1e3::float8)::bigint,
             'fromMs', ${wholeEpochMs('d.due_at')}, 'toMs', ${wholeEpochMs(`(${due})`)}))`;
