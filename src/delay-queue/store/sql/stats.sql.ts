import type { GroupOrder } from '../../api/selection.js';
import { epochMs, type Tables, wakeOf } from '../../database/tables.js';
import { clock, nodesNow, saidAt } from './fragments/clock.js';
import { stateAt } from './fragments/filter.js';
import { liveNames, lives } from './fragments/presence.js';
import { isPaused } from './pauses.sql.js';
import { anyHeld, fullLimits, throttledBy, IS_LIMITED } from './waits-for.js';

/** What is counted of a delay `d`, as columns; needs the CTE `clock`. */
const COUNTED = `${stateAt('clock.now')} AS state,
         CASE WHEN ${wakeOf('d')} <= clock.now THEN ${wakeOf('d')} END AS overdue_since`;

/** Minus infinity has no age. GREATEST ignores NULL, and without an overdue row both are NULL. */
const NOT_INFINITE = `GREATEST(pg_catalog.min(overdue_since), CASE WHEN pg_catalog.count(overdue_since) > 0 THEN '0001-01-01 00:00:00+00'::timestamptz END)`;

/** Rows of a group by state, and the overdue ones: their wake is past and no attempt has begun. */
const COUNTS = `pg_catalog.count(*) AS total,
         pg_catalog.count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
         pg_catalog.count(*) FILTER (WHERE state = 'running') AS running,
         pg_catalog.count(*) FILTER (WHERE state = 'retrying') AS retrying,
         pg_catalog.count(*) FILTER (WHERE state = 'dead') AS dead,
         pg_catalog.count(overdue_since) AS overdue,
         ${epochMs(`(SELECT now FROM clock) - ${NOT_INFINITE}`)} AS oldest_overdue_ms`;

/** The counts of row `c`, as texts. */
const COUNTS_AS_TEXT = `c.scheduled::text AS scheduled, c.running::text AS running, c.retrying::text AS retrying,
       c.dead::text AS dead, c.overdue::text AS overdue, c.oldest_overdue_ms::text AS oldest_overdue_ms`;

/**
 * How many delays each group of a name has in each state, the most of `by` first. Parameters:
 * limit; then those of `where`, a condition on `d`. Leaves out delays without a group, which are
 * not in index `delay_group`.
 */
export const groupStatsSql = (tables: Tables, where: string, by: GroupOrder): string => {
  const column = by === 'oldestOverdueMs' ? 'oldest_overdue_ms' : by;
  const order = `c.${column} DESC NULLS LAST, c.name, c.group_id`;
  return `
WITH ${clock(tables)},
delays AS (
  SELECT d.name, d.group_id, ${COUNTED}
  FROM ${tables.delay} d, clock
  WHERE d.group_id IS NOT NULL AND ${where}
),
counted AS (
  SELECT c.* FROM (SELECT name, group_id, ${COUNTS} FROM delays GROUP BY name, group_id) c
  ORDER BY ${order}
  LIMIT $1::int
),
${fullLimits(tables, 'counted')}
SELECT c.name, c.group_id, ${COUNTS_AS_TEXT},
       h.paused::text AS paused, h.limited::text AS limited
FROM counted c, LATERAL (
  SELECT ${isPaused(tables)} AS paused, ${IS_LIMITED} AS limited
  FROM clock, (VALUES (c.name, c.group_id)) AS d(name, group_id)
) h
ORDER BY ${order}`;
};

/**
 * How many delays each name has in each state, how many are overdue, and what holds these back.
 * Reads the whole table, and checks pauses and limits once for each group with overdue delays.
 * Parameter: alive_ms.
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
  SELECT d.*, CASE WHEN d.overdue > 0 THEN ${throttledBy(tables)} END AS held FROM counted d, clock
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
 * The live nodes and how many delays each has leased; reads the table once. Parameter: alive_ms.
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
