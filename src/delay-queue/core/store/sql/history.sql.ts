import type { DelayRecord, EndState, MoveCall } from '../../api/delay.js';
import type { HistoryKept } from '../../config/options.js';
import {
  epochMs,
  presentEpochUs,
  ON_PRIMARY,
  type Tables,
  wholeEpochMs,
} from '../../database/tables.js';
import {
  type AnswerColumn,
  asDate,
  asNumber,
  asText,
  EXTRAS_AND_LOGS,
  historyExtras,
  type RowOf,
  selected,
} from '../rows/columns.js';

/*
 * The attempt log of a delay, where history keeps attempts: a JSON array in its row, copied to its
 * line of history. A claim appends an entry, and the write that ends the attempt completes it; one
 * without an end runs or was lost. A log that is not an array, written by hand, begins anew.
 */

/** Only the last ones are kept. */
const KEPT_MAX = 50;

const ERROR_LENGTH_MAX = 1_000;

/** Whole milliseconds, like a JavaScript `Date`. */
const NOW_MS = `pg_catalog.floor(pg_catalog.date_part('epoch', (SELECT now FROM clock)) * 1e3::float8)::bigint`;

/** SQL for the log of `d`, with the attempt that begins on that node. */
export const begunAttempt = (node: string): string =>
  `CASE WHEN pg_catalog.jsonb_typeof(d.attempt_log) <> 'array' THEN '[]'
             WHEN pg_catalog.jsonb_array_length(d.attempt_log) >= ${KEPT_MAX} THEN d.attempt_log - 0
             ELSE COALESCE(d.attempt_log, '[]') END
        || pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('attempt', d.attempts + 1, 'node', ${node},
                                                'startedMs', ${NOW_MS}))`;

/**
 * SQL for the log of a row whose last attempt ends now. NULL stays NULL: a node that keeps no
 * attempts has claimed the row.
 * @param outcome SQL for an `AttemptOutcome`
 */
export const endedAttempt = (row: string, outcome: string, error?: string): string => {
  const end = `'outcome', ${outcome}, 'endedMs', ${NOW_MS}`;
  if (error === undefined) return withEnd(row, `pg_catalog.jsonb_build_object(${end})`);
  const text = `'error', pg_catalog.left(${error}, ${ERROR_LENGTH_MAX})`;
  return withEnd(
    row,
    `pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(${end}, ${text}))`,
  );
};

/** SQL for the log of a row that was taken over from a dead process. */
export const lostAttempt = (row: string): string => withEnd(row, `'{"outcome": "lost"}'`);

/** Keeps an outcome that is already written: an exhausted delay's attempt is ended twice. */
const withEnd = (row: string, end: string): string =>
  `CASE WHEN (${row}.attempt_log -> -1) ? 'outcome'::text THEN ${row}.attempt_log
             ELSE pg_catalog.jsonb_set(${row}.attempt_log, '{-1}', ${row}.attempt_log -> -1 || ${end}) END`;

/** SQL for the log of a row whose last claim called no handler. */
export const withoutLastAttempt = (row: string): string =>
  `CASE WHEN pg_catalog.jsonb_typeof(${row}.attempt_log) = 'array' THEN NULLIF(${row}.attempt_log - -1, '[]') END`;

/** A history row of an ended delay; SQL each. */
interface HistoryRow {
  /** The alias of the row before the write. */
  of: string;
  /** Source of the rows. */
  from: string;
  where?: string;
  state: string;
  latenessMs?: string;
  /** @default the node that had the row leased */
  node?: string;
  /** @default the last error of the row */
  error?: string;
  /** @default the log of the row */
  attemptLog?: string;
  /** Who asked for the end, if the call said so. */
  by?: string | undefined;
}

/** A last CTE `ended` that writes history, or nothing where none is kept. Needs the CTE `clock`. */
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
    by,
  }: HistoryRow,
): string {
  // A parameter that the text does not name would be one too many.
  if (kept === 'nothing') return by === undefined ? '' : `,\nended AS (SELECT ${by})`;
  const columns = historyExtras(kept);
  const values = columns.map((name) => (name === 'attempt_log' ? attemptLog : `${of}.${name}`));
  return `,
ended AS (
  INSERT INTO ${history} (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node, error,
    ${columns.join(', ')}${by === undefined ? '' : ', ended_by'})
  SELECT ${of}.id, clock.now, ${of}.due_at, ${of}.created_at, ${latenessMs}, ${of}.epoch, ${of}.attempts,
         ${state}, ${of}.name, ${of}.key, ${node}, ${error},
         ${values.join(', ')}${by === undefined ? '' : `, ${by}`}
  FROM ${from}, clock${where === undefined ? '' : `\n  WHERE ${where}`}
)`;
}

/*
 * The move log of a delay's due time, kept in the same way. The statement that moves it writes the
 * row anyway.
 */

/** Only the last ones are kept. */
const MOVES_KEPT_MAX = 20;

/**
 * SQL for the log of row `d`, whose due time becomes `due`. @param by SQL for who asked, if the
 * call said so
 */
export const movedTo = (due: string, call: MoveCall, by?: string): string =>
  `CASE WHEN pg_catalog.jsonb_typeof(d.move_log) <> 'array' THEN '[]'
             WHEN pg_catalog.jsonb_array_length(d.move_log) >= ${MOVES_KEPT_MAX} THEN d.move_log - 0
             ELSE COALESCE(d.move_log, '[]') END
        || pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('call', '${call}', 'atMs', pg_catalog.floor(pg_catalog.date_part('epoch', (SELECT now FROM clock)) * 1e3::float8)::bigint,
             'fromMs', ${wholeEpochMs('d.due_at')}, 'toMs', ${wholeEpochMs(`(${due})`)}${by === undefined ? '' : `, 'by', ${by}`}))`;

/** SQL for a log with that move alone: the instants that recurring `of` leaves out before `due`. */
export const skippedTo = (due: string, of: string): string =>
  `pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('call', '${'catchUp' satisfies MoveCall}', 'atMs', ${NOW_MS},
             'fromMs', ${wholeEpochMs(`${of}.skipped_from`)}, 'toMs', ${wholeEpochMs(due)}, 'skipped', ${of}.skipped))`;

/** SQL for the instant of that age. */
export const before = (ageMs: string): string =>
  `(SELECT pg_catalog.clock_timestamp() - ${ageMs}::float8 * interval '1 millisecond')`;

/**
 * CTEs `page` and `gone`: a page of history, and what is meant of it, deleted by ctid, because a
 * join back to the table may be planned as a read of all of it. What another session locks stays.
 * @param page SQL for `is_meant`, and which rows `d` the page has
 */
export const deletedPage = ({ history }: Tables, page: string, returning: string): string => `
page AS MATERIALIZED (
  SELECT d.ctid AS at, d.ended_at, d.id, d.epoch, ${page}
),
gone AS (
  DELETE FROM ${history} WHERE ctid = ANY (ARRAY(
    SELECT h.ctid FROM ${history} h
    WHERE h.ctid = ANY (ARRAY(SELECT p.at FROM page p WHERE p.is_meant))
    FOR UPDATE SKIP LOCKED))
  RETURNING ${returning}
)`;

/** Condition: row `d` lies behind that position. Parameters: $2 to $4, instant, id and epoch. */
export const BEHIND = '(d.ended_at, d.id, d.epoch) > ($2::timestamptz, $3::bigint, $4::bigint)';

/** The oldest ones of a page. Parameter: $1, limit. */
export const OLDEST_FIRST = 'ORDER BY d.ended_at, d.id, d.epoch LIMIT $1::int';

/** How many went, how many the page had, and where it ended. */
export const PAGE_ANSWER = `
SELECT (SELECT pg_catalog.count(*) FROM gone)::text AS count, (SELECT pg_catalog.count(*) FROM page)::text AS read,
       l.ended_at::text AS ended_at, l.id::text AS id, l.epoch::text AS epoch
FROM (VALUES (1)) one LEFT JOIN (
  SELECT d.ended_at, d.id, d.epoch FROM page d
  ORDER BY d.ended_at DESC, d.id DESC, d.epoch DESC LIMIT 1
) l ON true`;

/**
 * Deletes, of a page of what is older than the age, the rows of these names, or of all others; if
 * `abandoned`, only while no row is younger: that comes from a node that keeps history. Parameters:
 * limit; instant, id and epoch of the row to start behind; keep_ms, names[], others, abandoned.
 */
export const pruneSql = (tables: Tables): string => `
WITH ${deletedPage(
  tables,
  `(d.name = ANY ($6::text[])) <> $7::boolean AS is_meant FROM ${tables.history} d
  WHERE ${BEHIND} AND d.ended_at < ${before('$5')}
    AND NOT ($8::boolean AND (SELECT EXISTS (SELECT FROM ${tables.history} WHERE ended_at >= ${before('$5')})))
  ${OLDEST_FIRST}`,
  '1 AS one',
)}${PAGE_ANSWER}`;

export const ENDED = {
  id: asText('d.id::text'),
  name: asText('d.name'),
  key: asText<string | null>('d.key'),
  state: asText<EndState>('d.state'),
  dueAt: asDate(epochMs('d.due_at')),
  createdAt: asDate(epochMs('d.created_at')),
  endedAt: asDate(epochMs('d.ended_at')),
  latenessMs: asNumber<number | null>('d.lateness_ms::numeric'),
  attempts: asNumber('d.attempts'),
  node: asText<string | null>('d.node'),
  error: asText<string | null>('d.error'),
  by: asText<string | null>('d.ended_by'),
  ...EXTRAS_AND_LOGS,
} satisfies { [Field in keyof DelayRecord]: AnswerColumn<DelayRecord[Field]> };

/** Where a history row is in the order of `endedSql`. */
export const POSITION = {
  /** Microseconds since 1970. */
  endedUs: asNumber(presentEpochUs('d.ended_at')),
  id: asNumber('d.id'),
  epoch: asNumber('d.epoch'),
};

export type EndedPosition = RowOf<typeof POSITION>;

/** How the delays of (name, key) ended, newest first. Parameters: name, key, limit. */
export const historySql = ({ history }: Tables): string => `
${ON_PRIMARY}
SELECT ${selected(ENDED)}
FROM ${history} d
WHERE d.name = $1::text AND d.key = $2::text
ORDER BY d.ended_at DESC, d.epoch DESC
LIMIT $3::int`;

/**
 * Ended delays, newest first. Parameters: ended_at ('infinity': the newest), id and epoch of the
 * row to start behind; limit; then the filter's.
 */
export const endedSql = ({ history }: Tables, filter: string): string => `
${ON_PRIMARY}
SELECT ${selected({ ...ENDED, ...POSITION })}
FROM ${history} d
WHERE (d.ended_at, d.id, d.epoch) < ($1::timestamptz, $2::bigint, $3::bigint) AND ${filter}
ORDER BY d.ended_at DESC, d.id DESC, d.epoch DESC
LIMIT $4::int`;

/** How many ended. Parameters: the filter's. */
export const countEndedSql = ({ history }: Tables, filter: string): string => `
${ON_PRIMARY}
SELECT pg_catalog.count(*)::text AS count
FROM ${history} d
WHERE ${filter}`;
