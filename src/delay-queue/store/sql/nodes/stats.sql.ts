import { clock } from '../parts/clock.js';
import { stateAt } from '../parts/filter.js';
import { epochMs, wakeOf, type Tables } from '../../tables/schema.js';
import { isPresent } from './presence.sql.js';

/**
 * How many delays each name has in each state, and those whose wake is past: nobody has begun them. Reads the whole
 * table. No parameters.
 */
export const nameStatsSql = ({ delay }: Tables): string => `
WITH ${clock()},
delays AS (
  SELECT d.name, ${stateAt('clock.now')} AS state,
         CASE WHEN ${wakeOf('d')} <= clock.now THEN ${wakeOf('d')} END AS overdue_since
  FROM ${delay} d, clock
)
SELECT name,
       (count(*) FILTER (WHERE state = 'scheduled'))::text AS scheduled,
       (count(*) FILTER (WHERE state = 'running'))::text AS running,
       (count(*) FILTER (WHERE state = 'retrying'))::text AS retrying,
       (count(*) FILTER (WHERE state = 'dead'))::text AS dead,
       count(overdue_since)::text AS overdue,
       (SELECT ${epochMs('clock.now - min(overdue_since)')}::text FROM clock) AS oldest_overdue_ms
FROM delays
GROUP BY name
ORDER BY name`;

/**
 * The nodes that live, and how many delays each has leased. Parameter: for how many milliseconds a node counts as alive
 * of which nobody can tell.
 */
export const nodeStatsSql = ({ delay, node }: Tables): string => `
WITH ${clock()}
SELECT n.id, to_json(n.names)::text AS names, ${epochMs('n.started_at')}::text AS started_ms,
       ${epochMs('n.seen_at')}::text AS seen_ms,
       (SELECT count(*) FROM ${delay} d WHERE d.leased_by = n.id AND d.leased_until > clock.now)::text
         AS running
FROM ${node} n, clock
WHERE n.seen_at > clock.now - $1::float8 * interval '1 millisecond'
  AND (NOT n.present OR ${isPresent('n.id')})
ORDER BY n.id`;
