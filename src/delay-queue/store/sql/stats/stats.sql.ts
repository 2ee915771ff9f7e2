import { clock, nodesNow, saidAt } from '../parts/clock.js';
import { COUNTED, COUNTS, COUNTS_AS_TEXT } from './counts.js';
import { anyHeld, fullLimits, heldBy } from './waits-for.js';
import { epochMs, type Tables, wakeOf } from '../../tables/schema.js';
import { liveNames, lives } from '../nodes/presence.sql.js';

/**
 * How many delays each name has in each state, and those whose wake is past: no node has begun them, and what holds them
 * back. Reads the whole table, and asks once for each group that has something overdue. Parameter: for how many
 * milliseconds a node counts as alive of which nothing can be told.
 */
export const nameStatsSql = (tables: Tables): string => `
WITH ${clock(tables)},
${liveNames(tables, '$1')},
delays AS (
  SELECT d.name, ${COUNTED},
         CASE WHEN ${wakeOf('d')} <= clock.now AND (SELECT ${anyHeld(tables)}) THEN d.group_id END AS group_id
  FROM ${tables.delay} d, clock
),
counted AS MATERIALIZED (
  SELECT name, group_id, ${COUNTS} FROM delays GROUP BY name, group_id
),
overdue AS (
  SELECT name, group_id FROM counted WHERE overdue > 0
),
${fullLimits(tables, 'overdue')},
of_group AS MATERIALIZED (
  SELECT d.*, CASE WHEN d.overdue > 0 THEN ${heldBy(tables)} END AS held FROM counted d, clock
),
of_name AS (
  SELECT name, pg_catalog.sum(scheduled) AS scheduled, pg_catalog.sum(running) AS running, pg_catalog.sum(retrying) AS retrying, pg_catalog.sum(dead) AS dead,
         pg_catalog.sum(overdue) AS overdue, pg_catalog.max(oldest_overdue_ms) AS oldest_overdue_ms,
         COALESCE(pg_catalog.sum(overdue) FILTER (WHERE held = 'pause'), 0) AS paused,
         COALESCE(pg_catalog.sum(overdue) FILTER (WHERE held = 'limit'), 0) AS limited,
         COALESCE(pg_catalog.sum(overdue) FILTER (WHERE held IS NULL), 0) AS late,
         pg_catalog.max(oldest_overdue_ms) FILTER (WHERE held IS NULL) AS oldest_late_ms
  FROM of_group GROUP BY name
)
SELECT c.name, ${COUNTS_AS_TEXT}, c.paused::text AS paused, c.limited::text AS limited, c.late::text AS late,
       c.oldest_late_ms::text AS oldest_late_ms
FROM of_name c
ORDER BY c.name`;

/**
 * The nodes that live, and how many delays each has leased: the table is read once for all of them. Parameter: for how
 * many milliseconds a node counts as alive of which nothing can be told.
 */
export const nodeStatsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT n.id, pg_catalog.to_json(n.names)::text AS names, ${epochMs(saidAt('n.started_at', tables))}::text AS started_ms,
       ${epochMs(saidAt('n.seen_at', tables))}::text AS seen_ms,
       COALESCE(r.running, 0)::text AS running
FROM clock, ${tables.node} n
     LEFT JOIN (SELECT d.leased_by, pg_catalog.count(*) AS running FROM ${tables.delay} d
                WHERE d.leased_until > (SELECT now FROM clock) GROUP BY d.leased_by) r ON r.leased_by = n.id
WHERE ${lives('n', nodesNow(tables), '$1::float8')}
ORDER BY n.id`;
