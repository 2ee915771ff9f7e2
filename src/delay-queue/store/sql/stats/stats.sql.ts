import { clock, nodesNow, saidAt } from '../parts/clock.js';
import { COUNTED, COUNTS, COUNTS_AS_TEXT } from './counts.js';
import { epochMs, type Tables } from '../../tables/schema.js';
import { lives } from '../nodes/presence.sql.js';

/**
 * How many delays each name has in each state, and those whose wake is past: nobody has begun them. Reads the whole
 * table. No parameters.
 */
export const nameStatsSql = ({ delay, now }: Tables): string => `
WITH ${clock({ now })},
delays AS (
  SELECT d.name, ${COUNTED}
  FROM ${delay} d, clock
)
SELECT c.name, ${COUNTS_AS_TEXT}
FROM (SELECT name, ${COUNTS} FROM delays GROUP BY name) c
ORDER BY c.name`;

/**
 * The nodes that live, and how many delays each has leased: the table is read once for all of them. Parameter: for how
 * many milliseconds a node counts as alive of which nobody can tell.
 */
export const nodeStatsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT n.id, to_json(n.names)::text AS names, ${epochMs(saidAt('n.started_at', tables))}::text AS started_ms,
       ${epochMs(saidAt('n.seen_at', tables))}::text AS seen_ms,
       COALESCE(r.running, 0)::text AS running
FROM clock, ${tables.node} n
     LEFT JOIN (SELECT d.leased_by, count(*) AS running FROM ${tables.delay} d
                WHERE d.leased_until > (SELECT now FROM clock) GROUP BY d.leased_by) r ON r.leased_by = n.id
WHERE ${lives('n', nodesNow(tables), '$1::float8')}
ORDER BY n.id`;
