import { plusMs, type Tables } from '../../database/tables.js';
import { clock, nodesNow } from './fragments/clock.js';
import { liveNames, lives, notLeftOut } from './fragments/presence.js';
import { deleteOldest } from './history.sql.js';

/**
 * Deletes nodes not seen for long: a killed process does not leave the cluster. A node that lives
 * after all comes back with its next heartbeat. Parameters: stale_ms, limit. Answers how many.
 */
export const forgetNodesSql = ({ node }: Tables): string =>
  deleteOldest(node, { by: 'id', since: 'seen_at', order: 'seen_at, id' });

/** Rows read, at most. If there are more, the node looks again when the last of these is due. */
const LOOKS_AT_MAX = 1_000;

/**
 * An idle node records how long it leaves the database alone: until shortly before the next wake of
 * its names, in any node's share. A row that another node has leased has its wake in the past, and
 * keeps this node awake. Parameters: node, names[], skipped groups, the longest time in ms,
 * horizon_ms. Answers `idle_ms`; no row if there is something to do within the horizon.
 *
 * The node comes back half a horizon before that wake: a suspended server needs time to start.
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

/** A node leaves the cluster. Parameter: node. */
export const leaveSql = ({ node }: Tables): string => `
DELETE FROM ${node} WHERE id = $1::text RETURNING id AS node`;

/** The names that no live node serves. Parameters: names[], alive_ms. */
export const unservedSql = (tables: Tables): string => `
WITH ${clock(tables)},
${liveNames(tables, '$2')}
SELECT w.name FROM pg_catalog.unnest($1::text[]) AS w(name)
WHERE NOT EXISTS (SELECT FROM live WHERE w.name = ANY (live.names))`;

/** The ids of the live nodes. Parameter: alive_ms. */
export const liveNodesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT n.id
FROM ${tables.node} n, clock
WHERE ${lives('n', nodesNow(tables), '$1::float8')}`;
