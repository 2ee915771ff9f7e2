import { clock, nodesNow } from '../parts/clock.js';
import { notLeftOut } from '../parts/share.js';
import { plusMs, type Tables } from '../../tables/schema.js';

/** Rows looked at, at most: with so many of names that this node does not serve, it looks again when the last of them is due. */
const LOOKS_AT_MAX = 1_000;

/**
 * A node with nothing to do says how long it leaves the database alone: until shortly before the next wake of its names,
 * in any node's share. What another node has leased has its wake behind it, and so keeps this one awake. Parameters: node,
 * names[], groups that are left out, for how many milliseconds at most, horizon_ms. Answers one row with `idle_ms`; none when there
 * is something to do within the horizon.
 *
 * It comes back half a horizon before that wake: a server that sleeps needs its time to start.
 */
export const idleSql = (tables: Tables): string => `
WITH ${clock(tables)},
ahead AS MATERIALIZED (
  SELECT d.wake_at, d.name, d.group_id FROM ${tables.delay} d
  WHERE d.wake_at < 'infinity'
  ORDER BY d.wake_at, d.id
  LIMIT ${LOOKS_AT_MAX}
),
next AS (
  SELECT pg_catalog.min(w.wake_at) AS wake_at
  FROM (SELECT a.wake_at FROM ahead a
        WHERE a.name = ANY ($2::text[]) AND ${notLeftOut('a', { leftOut: '$3::text[]' })}
        UNION ALL
        SELECT pg_catalog.max(a.wake_at) FROM ahead a HAVING pg_catalog.count(*) = ${LOOKS_AT_MAX}) w
),
span AS (
  SELECT LEAST($4::float8, EXTRACT(epoch FROM next.wake_at - clock.now)::float8 * 1e3::float8 - $5::float8 / 2::float8) AS ms
  FROM next, clock
  WHERE next.wake_at IS NULL OR next.wake_at > ${plusMs('clock.now', '$5::float8')}
)
UPDATE ${tables.node} n
SET idle_until = ${plusMs(nodesNow(tables), 'span.ms')}
FROM span, clock
WHERE n.id = $1::text
RETURNING span.ms::text AS idle_ms`;
