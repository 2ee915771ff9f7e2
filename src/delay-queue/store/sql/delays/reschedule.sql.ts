import { clockOf } from '../parts/clock.js';
import { movedTo } from '../parts/move-log.js';
import { isRowOf, besideInput } from '../parts/planner.js';
import { instantOrNull, msOrNull } from '../../wire/arrays.js';
import type { LockWait } from '../parts/lock-wait.js';
import {
  epochMs,
  extendedMs,
  nextEpoch,
  plusMs,
  wholeMs,
  type Tables,
} from '../../tables/schema.js';
import { freeRows, looked } from '../parts/look.js';
import { Targets } from '../parts/targets.js';

const TO = [
  ['after_ms', 'float8'],
  ['at', 'timestamptz'],
  ['extend_ms', 'float8'],
] as const;

/**
 * Moves delays. Parameters, one array each: those of the input, after_ms, at, extend_ms; the first of the last three
 * that is not absent counts. Of a call's list also its own attempts, which are left out. A dead letter answers
 * `absent`.
 */
export const rescheduleSql = (
  tables: Tables,
  lockWait: LockWait,
  of: Targets = Targets.CALLS,
): string => `
WITH ${clockOf(tables, lockWait)},
${of.input(TO)},
${looked(tables, of)},
${freeRows(tables, lockWait, {
  of,
  carries: TO.map(([column]) => column),
  expiredOnlyIf: of.attempts === 'one' ? 'true' : of.isNotOwn(TO),
})},
target AS MATERIALIZED (
  SELECT f.id, f.ord,
         COALESCE(${instantOrNull('f.at')}, ${wholeMs(plusMs('clock.now', msOrNull('f.after_ms')))},
                  ${extendedMs('f.due_at', 'f.extend_ms')}) AS due
  FROM free f, clock
  WHERE NOT f.dead
),
moved AS (
  UPDATE ${tables.delay} d
  SET due_at = t.due, wake_at = GREATEST(t.due, ${wholeMs('clock.now')}), epoch = ${nextEpoch('d')},
      attempts = 0, leased_until = NULL, leased_by = NULL, refused_by = NULL, last_error = NULL,
      move_log = ${movedTo('t.due', 'reschedule')}
  FROM target t, clock
  WHERE ${isRowOf('t')}
  RETURNING t.ord, d.id, d.group_id, d.epoch, d.due_at, d.wake_at
)
SELECT i.ord::text AS ord,
       CASE WHEN m.ord IS NOT NULL THEN 'rescheduled'
            WHEN f.dead THEN 'absent'
            WHEN s.leased THEN 'running'
            WHEN s.ord IS NULL THEN 'absent'
            ELSE 'again' END AS verdict,
       ${of.nameAndKey('f')}COALESCE(m.id, s.id)::text AS id,
       m.epoch::text AS epoch,
       ${epochMs('COALESCE(m.due_at, s.due_at)')}::text AS due_ms,
       ${epochMs('m.wake_at')}::text AS wake_ms, m.group_id,
       ${epochMs('clock.now')}::text AS now_ms
FROM ${besideInput(['seen', 's'], ['free', 'f'], ['moved', 'm'])}, clock
ORDER BY i.ord`;
