import { clockOf } from '../parts/clock.js';
import { movedTo } from '../parts/move-log.js';
import { isRowOf, besideInput } from '../parts/planner.js';
import type { LockWait } from '../parts/lock-wait.js';
import { epochMs, nextEpoch, wholeMs, type Tables } from '../../tables/schema.js';
import { freeRows, looked } from '../parts/look.js';
import type { Targets } from '../parts/targets.js';

/**
 * Makes delays due now that wait for their due time or for their next attempt; attempts and error stay. Parameters:
 * those of the input, and ids and epochs of the attempts that ask. One row per input: `due`, `running`, `absent`
 * (also for a dead letter), or `again` when the row changed under the look. One that would be missed is not late.
 */
export const runNowSql = (tables: Tables, lockWait: LockWait, of: Targets): string => `
WITH ${clockOf(tables, lockWait)},
${of.input()},
${looked(tables, of)},
${freeRows(tables, lockWait, { of, expiredOnlyIf: of.isNotOwn() })},
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = ${DUE},
      wake_at = ${wholeMs('clock.now')},
      epoch = ${nextEpoch('d')}, leased_until = NULL, leased_by = NULL,
      move_log = ${movedTo(DUE, 'runNow')}
  FROM free f, clock
  WHERE ${isRowOf('f')} AND NOT f.dead
  RETURNING f.ord, d.id, d.name, d.key, d.group_id, d.epoch, d.due_at, d.wake_at, d.last_error IS NOT NULL AS failed
)
SELECT i.ord::text AS ord,
       CASE WHEN m.ord IS NOT NULL THEN 'due'
            WHEN f.dead THEN 'absent'
            WHEN s.leased THEN 'running'
            WHEN s.ord IS NULL THEN 'absent'
            ELSE 'again' END AS verdict,
       COALESCE(m.id, s.id)::text AS id,
       m.epoch::text AS epoch,
       ${epochMs('COALESCE(m.due_at, s.due_at)')}::text AS due_ms,
       ${epochMs('m.wake_at')}::text AS wake_ms, m.group_id,
       m.failed::text AS failed, m.name, m.key,
       ${epochMs('clock.now')}::text AS now_ms
FROM ${besideInput(['seen', 's'], ['free', 'f'], ['moved', 'm'])}, clock
ORDER BY i.ord`;

const DUE = `CASE WHEN d.repeat ->> 'catchUp'::text = 'none' THEN ${wholeMs('clock.now')}
                    ELSE LEAST(d.due_at, ${wholeMs('clock.now')}) END`;
