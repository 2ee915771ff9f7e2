import { clockOf } from '../parts/clock.js';
import { movedTo } from '../parts/move-log.js';
import type { LockWait } from '../parts/lock-wait.js';
import { epochMs, nextEpoch, wholeMs, type Tables } from '../../tables/schema.js';

/** Makes the dead letter of (name, key) due now, with all its attempts. Parameters: name, key. */
export const retryDeadSql = (
  { delay, now }: Tables,
  lockWait: Exclude<LockWait, 'at once'>,
): string => `
WITH ${clockOf({ now }, lockWait)},
retried AS (
  UPDATE ${delay} d
  SET due_at = ${wholeMs('clock.now')}, wake_at = ${wholeMs('clock.now')}, epoch = ${nextEpoch('d')},
      attempts = 0, leased_until = NULL, leased_by = NULL, refused_by = NULL,
      move_log = ${movedTo(wholeMs('clock.now'), 'retryDead')}
  FROM clock
  WHERE d.name = $1::text AND d.key = $2::text AND d.wake_at = 'infinity'
  RETURNING d.id, d.group_id, d.epoch, d.due_at, d.wake_at
)
SELECT r.id::text AS id, r.group_id, r.epoch::text AS epoch, ${epochMs('r.due_at')}::text AS due_ms,
       ${epochMs('r.wake_at')}::text AS wake_ms, ${epochMs('clock.now')}::text AS now_ms
FROM retried r, clock`;
