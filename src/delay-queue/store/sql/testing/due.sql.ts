import { clock } from '../parts/clock.js';
import { isPaused, unpausedNames } from '../pauses/pauses.sql.js';
import { presentEpochUs, wakeOf, type Tables } from '../../tables/schema.js';

const COLUMNS = `d.id::text AS id, d.epoch::text AS epoch, d.name, d.key, d.group_id, d.payload::text AS payload,
       ${presentEpochUs(wakeOf('d'))}::text AS wake_us, (d.leased_by IS NOT NULL)::text AS stalled,
       (d.last_error IS NOT NULL)::text AS failed`;

/**
 * What is due, the oldest first, for tests. Parameters: names[], ids[] that are left out, whether only what was due first
 * (at one instant), limit. What was overdue when it was scheduled wakes at once, perhaps together with others: their due
 * times tell which is first. What is paused is not due.
 */
export const dueSql = (tables: Tables): string => `
WITH ${clock(tables)},
due AS MATERIALIZED (
  SELECT d.*, ${wakeOf('d')} AS wake
  FROM ${tables.delay} d, clock
  WHERE d.name = ANY (${unpausedNames(tables, '$1::text[]')}) AND d.id <> ALL ($2::bigint[]) AND d.wake_at <= (SELECT now FROM clock)
    AND ${wakeOf('d')} <= clock.now AND NOT ${isPaused(tables)}
)
SELECT ${COLUMNS}
FROM due d
WHERE NOT $3::bool OR (d.wake, d.due_at) = (SELECT f.wake, f.due_at FROM due f ORDER BY f.wake, f.due_at LIMIT 1)
ORDER BY d.wake, d.due_at, d.id
LIMIT $4::int`;

/** The same of one, due or not, unless it is paused. Parameter: id. */
export const dueOneSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${COLUMNS}
FROM ${tables.delay} d, clock
WHERE d.id = $1::bigint AND d.wake_at < 'infinity' AND NOT ${isPaused(tables)}`;
