import type { HistoryKept } from '../../../delay/attempts.js';
import { clock, clockOf } from '../parts/clock.js';
import { intoHistory, logged } from '../parts/history-row.js';
import { isRowOf, STAYS_APART } from '../parts/planner.js';
import type { LockWait } from '../parts/lock-wait.js';
import { keyedRow } from '../parts/row-of.js';
import { instantOrNull, maximumOrNull } from '../../wire/arrays.js';
import { extrasOf } from './schedule-new.sql.js';
import { epochMs, plusMs, type Tables, wholeMs } from '../../tables/schema.js';

/*
 * A key that runs is to run once more. That cannot stand in the row that runs: a transactional attempt locks it to its
 * end, and no writer waits for a handler. So it stands beside it until the run is over (docs/adr/0054).
 */

const MAX_WAIT = `(i.extras::jsonb ->> 'maxWait'::text)::float8`;

/**
 * Keeps calls that met a delay that runs: one for each key, the last. Parameters, one array each, sorted by (name, key):
 * as in `place`, then extras[] and the ids of the delays that run. Answers a row for each, in no order. It waits for calls that write about the same key in a
 * transaction that is open.
 */
export const askRerunSql = (tables: Tables, lockWait: LockWait): string => `
WITH ${clockOf(tables, lockWait)}
INSERT INTO ${tables.rerun} AS r
  (id, name, key, payload, due_at, asked_at, created_at, max_wait_ms, max_attempts, group_id, headers)
SELECT i.id, i.name, i.key, i.payload::jsonb,
       COALESCE(${instantOrNull('i.at')}, ${wholeMs(plusMs('clock.now', 'i.after_ms'))}),
       clock.now, clock.now, ${MAX_WAIT}, ${maximumOrNull('i.max_attempts')}, ${extrasOf('i.extras')}
FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamptz[], $6::int[], $7::text[],
            $8::bigint[])
     WITH ORDINALITY AS i(name, key, payload, after_ms, at, max_attempts, extras, id, ord), clock
ORDER BY i.ord
ON CONFLICT (name, key) DO UPDATE
SET id = excluded.id, payload = excluded.payload,
    due_at = LEAST(excluded.due_at, ${wholeMs(plusMs('r.created_at', 'excluded.max_wait_ms'))}),
    asked_at = excluded.asked_at,
    created_at = CASE WHEN excluded.max_wait_ms IS NULL THEN excluded.created_at ELSE r.created_at END,
    max_wait_ms = excluded.max_wait_ms, max_attempts = excluded.max_attempts,
    group_id = excluded.group_id, headers = excluded.headers
RETURNING r.name, r.key, ${epochMs('r.due_at')}::text AS due_ms`;

/** Drops what is kept for keys, but not what another call writes just now. Parameters: names[], keys[]. */
export const dropRerunsSql = ({ rerun }: Tables): string => `
DELETE FROM ${rerun} WHERE ctid = ANY (ARRAY(
  SELECT r.ctid FROM unnest($1::text[], $2::text[]) AS i(name, key), LATERAL (
    SELECT r.ctid FROM ${rerun} r WHERE r.name = i.name AND r.key = i.key FOR UPDATE SKIP LOCKED
  ) r
))`;

/** What is kept: those first whose run is over. Parameter: limit. */
export const rerunsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT r.name, r.key, (NOT r.runs)::text AS is_over
FROM (
  SELECT r.name, r.key, r.due_at, (
    SELECT d.leased_until > clock.now FROM ${tables.delay} d WHERE d.name = r.name AND d.key = r.key LIMIT 1
  ) IS TRUE AS runs
  FROM ${tables.rerun} r, clock
) r
ORDER BY r.runs, r.due_at
LIMIT $1::int`;

/**
 * The row says something newer, if it was scheduled since. A dead letter of that kind may have begun before what is kept was
 * committed: its key runs once more, with what the row says.
 */
const IS_NEWER = `f.created_at > w.asked_at`;

const newerOf = (column: string): string =>
  `${column} = CASE WHEN ${IS_NEWER} THEN d.${column} ELSE w.${column} END`;

/**
 * What is kept for one key becomes its delay, unless it runs. It takes the place of one that waits and is older, as a
 * retry of the run is, and of a dead letter. Parameters: name, key. Answers a row when it is done: with the delay that
 * was written, if one was.
 *
 * One statement: at any moment a key has either what is kept or the delay that was made of it, and each look, as that of
 * `cancel`, sees one of the two. It waits for no lock, but shortly for a call that inserts that key just now.
 */
export const rerunSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables, { waitsMs: INSERT_WAITS_MS_MAX })},
wanted AS MATERIALIZED (
  SELECT r.*, r.ctid AS at FROM ${tables.rerun} r, clock
  WHERE r.name = $1::text AND r.key = $2::text AND clock.lock_timeout IS NOT NULL
  FOR UPDATE OF r SKIP LOCKED
),
seen AS MATERIALIZED (
  SELECT d.id FROM wanted w, LATERAL ${keyedRow(tables, 'w', { columns: 'd.id', lock: 'none' })} d
),
free AS MATERIALIZED (
  SELECT d.* FROM wanted w, clock, LATERAL ${keyedRow(tables, 'w', {
    columns: `d.id, d.epoch, d.due_at, d.created_at, d.attempts, d.name, d.key, d.leased_by, d.last_error,
            d.wake_at = 'infinity' AS dead${logged(kept)
              .map((column) => `, d.${column}`)
              .join('')}`,
    and: '(d.leased_by IS NULL OR d.leased_until <= clock.now)',
    lock: 'at once',
  })} d
),
moved AS (
  UPDATE ${tables.delay} d
  SET ${['payload', 'max_attempts', 'group_id', 'headers'].map(newerOf).join(', ')},
      due_at = w.due_at, wake_at = GREATEST(w.due_at, ${wholeMs('clock.now')}),
      created_at = ${CREATED_AT}, epoch = d.epoch + 1, attempts = 0,
      leased_until = NULL, leased_by = NULL, refused_by = NULL, last_error = NULL, attempt_log = NULL,
      move_log = NULL
  FROM wanted w, free f, clock
  WHERE ${isRowOf('f')} AND (f.dead OR NOT (${IS_NEWER}))
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at
),
placed AS (
  INSERT INTO ${tables.delay} AS d
    (name, key, payload, due_at, wake_at, created_at, max_attempts, group_id, headers)
  SELECT w.name, w.key, w.payload, w.due_at, GREATEST(w.due_at, ${wholeMs('clock.now')}), ${CREATED_AT},
         w.max_attempts, w.group_id, w.headers
  FROM wanted w, clock
  WHERE NOT EXISTS (SELECT FROM seen)
  ON CONFLICT (name, key) WHERE key IS NOT NULL DO NOTHING
  RETURNING d.id, d.epoch, d.name, d.group_id, d.wake_at
),
done AS (
  DELETE FROM ${tables.rerun} r USING wanted w
  WHERE r.ctid = w.at AND (EXISTS (SELECT FROM free) OR EXISTS (SELECT FROM placed))
  RETURNING r.name
)${intoHistory(tables, kept, {
  of: 'f',
  from: 'free f, wanted w',
  where: 'f.dead',
  state: "'discarded'",
  node: 'NULL',
})}
SELECT n.id::text AS id, n.epoch::text AS epoch, n.group_id, ${epochMs('n.wake_at')}::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM clock, done LEFT JOIN (SELECT * FROM moved UNION ALL SELECT * FROM placed) n ON true`;

const CREATED_AT = 'CASE WHEN w.max_wait_ms IS NULL THEN clock.now ELSE w.created_at END';

/** Longer than a commit takes, and far shorter than `deadlock_timeout`. */
const INSERT_WAITS_MS_MAX = 10;

/** Whether anything is kept for the key of the row `d`: a look into an index that is nearly always empty. */
export const hasRerun = ({ rerun }: Tables, of = 'd'): string =>
  `EXISTS (SELECT FROM ${rerun} r WHERE r.name = ${of}.name AND r.key = ${of}.key ${STAYS_APART})`;
