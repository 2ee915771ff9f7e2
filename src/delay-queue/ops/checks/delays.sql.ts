import {
  asNumber,
  asText,
  clock,
  epochMs,
  nodesNow,
  selected,
  type Tables,
  wakeSql,
  wrongWith,
} from '../../core/ops.js';

/** A node that has missed its heartbeats and has not left. */
export interface SilentNode {
  node: string;
  silentMs: number;
}

/** Those that have been silent for longer than `aliveMs`, as a source of rows; needs the CTE `clock`. */
export const silentNodes = (tables: Tables, aliveMs: string): string => `(
  SELECT s.node, s.silent_ms
  FROM (SELECT o.id AS node, ${epochMs(`${nodesNow(tables)} - GREATEST(o.seen_at, o.idle_until)`)}::float8 AS silent_ms
        FROM ${tables.node} o, clock) s
  WHERE s.silent_ms > ${aliveMs})`;

export const SILENT = {
  node: asText('n.node'),
  silentMs: asNumber('n.silent_ms'),
  held: asNumber('COALESCE(l.held, 0)'),
};

/** Silent nodes, with the leases that they hold. It reads the whole table. Parameter: alive_ms. */
export const silentNodesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${selected(SILENT)}
FROM ${silentNodes(tables, '$1::float8')} n
     LEFT JOIN (SELECT d.leased_by, pg_catalog.count(*) AS held FROM ${tables.delay} d
                WHERE d.leased_by IS NOT NULL GROUP BY d.leased_by) l ON l.leased_by = n.node
ORDER BY n.silent_ms DESC`;

export const UNREADABLE = {
  why: asText('w.why'),
  count: asNumber('pg_catalog.count(*)'),
  example: asText('pg_catalog.min(w.id)::text'),
};

/** Rows that no node can read, by what is wrong with them; also those set aside. */
export const unreadableSql = (tables: Tables): string => `
WITH ${clock(tables)},
wrong AS (SELECT d.id, ${wrongWith('d')} AS why FROM ${tables.delay} d)
SELECT ${selected(UNREADABLE)}
FROM wrong w
WHERE w.why IS NOT NULL
GROUP BY w.why
ORDER BY w.why`;

export const EXPIRED = {
  node: asText('d.leased_by'),
  count: asNumber('pg_catalog.count(*)'),
  example: asText('pg_catalog.min(d.id)::text'),
};

/** Leases that have ended and that no node takes over. Parameter: for how many ms. */
export const expiredLeasesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${selected(EXPIRED)}
FROM clock, ${tables.delay} d
WHERE d.leased_by IS NOT NULL AND ${wakeSql('d')} < clock.now - $1::float8 * interval '1 millisecond'
GROUP BY d.leased_by
ORDER BY d.leased_by`;
