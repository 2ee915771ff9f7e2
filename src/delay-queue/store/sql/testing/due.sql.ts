import { clock } from '../parts/clock.js';
import { isPaused } from '../pauses/pauses.sql.js';
import { plusMs, presentEpochUs, wakeOf, type Tables } from '../../tables/schema.js';

/**
 * What is due, the oldest first, for tests. Parameters: names[], whether only what was due first (at one instant), the
 * one id that is wanted, due or not (null: any), limit, ids[] that are left out. What has been made due now is so at the
 * end of this millisecond. What was overdue when it was scheduled wakes then, perhaps together with others: their due times tell
 * which is first. What is paused is not due.
 */
export const dueSql = (tables: Tables): string => `
WITH ${clock()},
due AS MATERIALIZED (
  SELECT d.*, ${wakeOf('d')} AS wake
  FROM ${tables.delay} d, clock
  WHERE d.name = ANY ($1::text[]) AND d.wake_at < 'infinity'
    AND CASE WHEN $3::bigint IS NULL THEN ${wakeOf('d')} <= ${plusMs('clock.now', '1')}
             ELSE d.id = $3::bigint END
    AND d.id <> ALL ($5::bigint[]) AND NOT ${isPaused(tables)}
)
SELECT r.id::text AS id, r.epoch::text AS epoch, r.name, r.key, r.group_id, r.payload::text AS payload,
       ${presentEpochUs('r.wake')}::text AS wake_us, (r.leased_by IS NOT NULL)::text AS stalled,
       (r.last_error IS NOT NULL)::text AS failed
FROM due r
WHERE NOT $2::bool OR (r.wake, r.due_at) = (SELECT f.wake, f.due_at FROM due f ORDER BY f.wake, f.due_at LIMIT 1)
ORDER BY r.wake, r.due_at, r.id
LIMIT $4::int`;
