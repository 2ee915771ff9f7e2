import type { HistoryKept } from '../../../delay/attempts.js';
import { clockOf } from '../parts/clock.js';
import { intoHistory, logged } from '../parts/history-row.js';
import { isRowOf, besideInput } from '../parts/planner.js';
import { instantOrNull, maximumOrNull } from '../../wire/arrays.js';
import { extrasOf } from './schedule-new.sql.js';
import { goesOnAsItDid, isDeclared, repeatFrom } from '../parts/repeat.js';
import type { LockWait } from '../parts/lock-wait.js';
import { epochMs, nextEpoch, plusMs, wholeMs, type Tables } from '../../tables/schema.js';
import { freeRows, looked } from '../parts/look.js';

/** Whether each item is written for itself, or all of them or none: then no item answers `again` or `conflict`. */
export type Extent = 'each' | 'all or none';

/**
 * Whether a call says how a delay recurs. Each text of this statement is planned at each call, so those that do not say it
 * have one without.
 */
export type Says = 'when' | 'how it recurs';

/** Code says how `f` recurs, and calls do not. */
const IS_REFUSED = `${isDeclared('f.repeat')} AND f.extras::jsonb -> 'repeat'::text IS NOT NULL`;

/**
 * CTE `writable`: the rows of `free` that may be written, which with `all or none` are all of them or, when
 * one item has to look again or meets a conflict, none.
 */
const writable = (extent: Extent, says: Says): string =>
  extent === 'each'
    ? ''
    : `
blocked AS MATERIALIZED (
  SELECT FROM ${besideInput(['seen', 's'], ['free', 'f'])}
  WHERE f.ord IS NULL AND s.leased IS NOT TRUE OR i.on_conflict = 'error' AND NOT f.dead${says === 'when' ? '' : ` OR ${IS_REFUSED}`}
),
writable AS MATERIALIZED (SELECT * FROM free WHERE NOT EXISTS (SELECT FROM blocked)),`;

const writableOf = (extent: Extent): string => (extent === 'each' ? 'free' : 'writable');

/** When the new one takes the place of `f`, which waits. A dead letter waits for nothing. */
const REPLACES = `f.dead OR CASE f.on_conflict WHEN 'replace' THEN true
                             WHEN 'earlier' THEN f.due < f.due_at
                             WHEN 'later' THEN f.due > f.due_at END`;

const MAX_WAIT = `(f.extras::jsonb ->> 'maxWait'::text)::float8`;

const GOES_ON = goesOnAsItDid('f.repeat', 'f.extras');

/** When it is due that takes the place of `f`: no later than the longest wait allows, if there is one. */
const DUE_ONCE = `CASE WHEN f.dead THEN f.due ELSE LEAST(f.due, ${wholeMs(plusMs('f.created_at', MAX_WAIT))}) END`;

const DUE: Record<Says, string> = {
  when: DUE_ONCE,
  'how it recurs': `CASE WHEN NOT f.dead AND ${GOES_ON} THEN f.due_at ELSE ${DUE_ONCE} END`,
};

/** A delay of the list that does not say it goes on to recur as it did. */
const REPEAT = `CASE WHEN f.extras::jsonb -> 'repeat'::text IS NULL OR NOT f.dead AND ${GOES_ON} THEN f.repeat
                    ELSE ${repeatFrom(`(f.extras::jsonb -> 'repeat'::text)`, DUE['how it recurs'])} END`;

const CONFLICT: Record<Extent, string> = {
  each: 'f.ord IS NOT NULL',
  'all or none': "i.on_conflict = 'error' AND NOT f.dead",
};

/**
 * The look at keys that were taken when `place` ran. An unleased row is locked, waiting at most for
 * a claim in flight or another caller's transaction; a leased one answers at once.
 * Parameters as in `place`, then: on_conflict[], extras[]. Answers one row per input: `again` means that
 * another session moved the row meanwhile, or with `all or none` that nothing was written because of
 * another item, and the caller has to begin anew with a new statement.
 */
export const scheduleTakenSql = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  extent: Extent = 'each',
  says: Says = 'when',
): string => `
WITH ${clockOf(tables, lockWait)},
input AS MATERIALIZED (
  SELECT i.*, COALESCE(${instantOrNull('i.at')}, ${wholeMs(plusMs('clock.now', 'i.after_ms'))}) AS due
  FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamptz[], $6::int[],
              $7::text[], $8::text[])
       WITH ORDINALITY AS i(name, key, payload, after_ms, at, max_attempts, on_conflict, extras, ord), clock
),
${looked(tables)},
${freeRows(tables, lockWait, {
  carries: ['payload', 'due', 'max_attempts', 'on_conflict', 'extras'],
  more: [...(says === 'when' ? [] : ['repeat']), ...logged(kept)],
})},${writable(extent, says)}
placed AS (
  UPDATE ${tables.delay} d
  SET payload = f.payload::jsonb, due_at = ${DUE[says]},
      wake_at = GREATEST(${DUE[says]}, ${wholeMs('clock.now')}), max_attempts = ${maximumOrNull('f.max_attempts')},
      created_at = CASE WHEN f.dead OR ${MAX_WAIT} IS NULL THEN clock.now ELSE f.created_at END, epoch = ${nextEpoch('d')}, attempts = 0, leased_until = NULL,
      leased_by = NULL, refused_by = NULL, last_error = NULL, attempt_log = NULL, move_log = NULL, (group_id, headers) = ROW(${extrasOf('f.extras')})${
        says === 'when' ? '' : `,\n      repeat = ${REPEAT}`
      }
  FROM ${writableOf(extent)} f, clock
  WHERE ${isRowOf('f')} AND (${REPLACES})${says === 'when' ? '' : ` AND (${IS_REFUSED}) IS NOT TRUE`}
  RETURNING f.ord, d.id, d.epoch, d.due_at, d.wake_at, f.dead
)${intoHistory(tables, kept, {
  of: 'f',
  from: `${writableOf(extent)} f`,
  where: says === 'when' ? 'f.dead' : `f.dead AND (${IS_REFUSED}) IS NOT TRUE`,
  state: "'discarded'",
  node: 'NULL',
})}
SELECT i.ord::text AS ord,
       CASE ${says === 'when' ? '' : `WHEN ${IS_REFUSED} THEN 'declared'\n            `}WHEN p.dead THEN 'scheduled'
            WHEN p.ord IS NOT NULL THEN 'replaced'
            WHEN f.ord IS NOT NULL AND i.on_conflict <> 'error' THEN 'kept'
            WHEN ${CONFLICT[extent]} THEN 'conflict'
            WHEN s.leased THEN 'running'
            ELSE 'again' END AS verdict,
       COALESCE(p.id, f.id, s.id)::text AS id,
       p.epoch::text AS epoch,
       ${epochMs('COALESCE(p.due_at, f.due_at, s.due_at)')}::text AS due_ms,
       ${epochMs('p.wake_at')}::text AS wake_ms,
       ${epochMs('clock.now')}::text AS now_ms
FROM ${besideInput(['seen', 's'], ['free', 'f'], ['placed', 'p'])}, clock
ORDER BY i.ord`;
