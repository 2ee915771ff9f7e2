import type { HistoryKept } from '../../../delay/attempts.js';
import { clock, clockOf } from '../parts/clock.js';
import { andLogged, intoHistory, logged } from '../parts/history-row.js';
import { isRowOf, besideInput, STAYS_APART } from '../parts/planner.js';
import { epochMs, type Tables, wholeEpochMs } from '../../tables/schema.js';
import type { LockWait } from '../parts/lock-wait.js';
import { type FreeRows, freeRows, looked } from '../parts/look.js';
import { keyedRow } from '../parts/row-of.js';
import { hasRerun } from './rerun.sql.js';
import { Targets } from '../parts/targets.js';

/**
 * Which look at the delays it is. What is kept of a key to run once more goes with its delay, and to look for that makes the
 * statement a quarter dearer. So the `first` look asks only whether anything is kept, of whatever key; if so, it writes nothing and
 * answers `again` for all.
 */
export type CancelLook = 'first' | 'again';

/**
 * Removes delays, and what is kept of their keys, also of one that runs. Parameters: those of the input, and id and epoch of
 * the attempt that asks, if it is one: an attempt does not cancel itself. One row per input: `cancelled`, `running`, `absent`, or
 * `again` when the row changed under the look; and whether something kept was removed.
 */
export const cancelSql = (
  tables: Tables,
  kept: HistoryKept,
  lockWait: LockWait,
  of: Targets = Targets.CALLS,
  look: CancelLook = 'again',
): string => {
  const isFirst = look === 'first';
  const rows: FreeRows = { of, more: logged(kept), expiredOnlyIf: of.isNotOwn() };
  const free = isFirst
    ? freeRows(tables, lockWait, { ...rows, onlyIf: 'NOT clock.is_kept' })
    : freeRows(tables, lockWait, { ...rows, onlyIf: NOT_OTHERS });
  return `
WITH ${clockOf(tables, lockWait, isFirst ? [`EXISTS (SELECT FROM ${tables.rerun}) AS is_kept`] : [])},
${of.input()},
${looked(tables, of, isFirst ? [] : of.named().columns)},${isFirst ? '' : keptAndMine(tables, of)}
${free},${isFirst ? '' : dropped(tables)}
gone AS (
  DELETE FROM ${tables.delay} d USING free f WHERE ${isRowOf('f')} RETURNING f.*
)${intoHistory(tables, kept, {
    of: 'g',
    from: 'gone g',
    state: "CASE WHEN g.dead THEN 'discarded' ELSE 'cancelled' END",
  })}
SELECT i.ord::text AS ord,
       CASE ${isFirst ? "WHEN (SELECT is_kept FROM clock) THEN 'again'" : "WHEN k.ord IS NOT NULL AND m.ord IS NULL THEN 'again'"}
            WHEN g.ord IS NOT NULL THEN 'cancelled'
            WHEN s.leased THEN 'running'
            ${isFirst ? '' : "WHEN s.ord IS NULL AND m.ord IS NOT NULL THEN 'cancelled'"}
            WHEN s.ord IS NULL THEN 'absent'
            ELSE 'again' END AS verdict,
       ${of.nameAndKey('f')}${isFirst ? ANSWERED : ANSWERED_WITH_KEPT}
FROM ${besideInput(['seen', 's'], ['free', 'f'], ['gone', 'g'], ...(isFirst ? [] : KEPT_AND_MINE))}
ORDER BY i.ord`;
};

/** Nothing is kept of it that another call writes just now. */
const NOT_OTHERS = 'i.ord <> ALL (ARRAY(SELECT k.ord FROM kept k EXCEPT SELECT m.ord FROM mine m))';

const ANSWERED = `COALESCE(f.id, s.id)::text AS id, ${epochMs('COALESCE(f.due_at, s.due_at)')}::text AS due_ms,
       'false' AS dropped`;

const ANSWERED_WITH_KEPT = `COALESCE(f.id, s.id, m.id)::text AS id,
       ${epochMs('COALESCE(f.due_at, s.due_at, m.due_at)')}::text AS due_ms, (m.ord IS NOT NULL)::text AS dropped`;

const KEPT_AND_MINE: [cte: string, alias: string][] = [
  ['kept', 'k'],
  ['mine', 'm'],
];

const dropped = ({ rerun }: Tables): string => `
dropped AS (
  DELETE FROM ${rerun} WHERE ctid = ANY (ARRAY(
    SELECT m.at FROM mine m LEFT JOIN seen s USING (ord) LEFT JOIN free f USING (ord)
    WHERE s.ord IS NULL OR s.leased OR f.ord IS NOT NULL
  ))
),`;

/** CTEs `kept`, what is kept of the keys of `input`, and `mine`, what of that no other call has. */
const keptAndMine = ({ rerun }: Tables, of: Targets): string => `
kept AS MATERIALIZED (
  SELECT n.ord, r.at FROM ${of.named().by} n, LATERAL (
    SELECT r.ctid AS at FROM ${rerun} r WHERE r.name = n.name AND r.key = n.key ${STAYS_APART}
  ) r
),
mine AS MATERIALIZED (
  SELECT k.ord, r.* FROM kept k, LATERAL (
    SELECT r.ctid AS at, r.id, r.due_at FROM ${rerun} r WHERE r.ctid = k.at FOR UPDATE SKIP LOCKED
  ) r
),`;

/**
 * Removes the delays of (name, key) that no attempt and no other call holds, and that are not to run once more: most of those that are
 * cancelled. One look-up by key and no look at what is left; half the time of the above, which can
 * tell what became of the rest. Parameters: names[], keys[]. Answers one row per delay removed.
 */
export const cancelWaitingSql = (tables: Tables, kept: HistoryKept): string => `
WITH ${clock(tables)},
gone AS (
  DELETE FROM ${tables.delay} WHERE id = ANY (ARRAY(
    SELECT d.id
    FROM unnest($1::text[], $2::text[]) AS i(name, key), LATERAL ${keyedRow(tables, 'i', {
      columns: 'd.id',
      and: `d.leased_by IS NULL AND NOT ${hasRerun(tables)}`,
      lock: 'at once',
    })} d
  ))
  RETURNING id, name, key, due_at, wake_at, created_at, epoch, attempts, last_error${andLogged(kept)}
)${intoHistory(tables, kept, {
  of: 'g',
  from: 'gone g',
  state: "CASE WHEN g.wake_at = 'infinity' THEN 'discarded' ELSE 'cancelled' END",
  node: 'NULL',
})}
SELECT id::text AS id, name, key, ${wholeEpochMs('due_at')}::text AS due_ms FROM gone`;
