import {
  asNumber,
  asText,
  clock,
  epochMs,
  ON_PRIMARY,
  type RowOf,
  selected,
  SERVER,
  type Tables,
  wakeSql,
  wrongWith,
} from '../core/ops.js';

/*
 * What `nestjs-delay-queue doctor` looks at, one statement per look: a role that lacks the right to
 * one of them gets the others. None writes, and none needs more than to read.
 */

/** The server, this session and its role. */
export const SERVER_NOW = {
  ...SERVER,
  database: asText('pg_catalog.current_database()::text', 'database'),
  connections: asNumber(`(SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity a
        WHERE a.backend_type = 'client backend')`),
  connectionsMax: asNumber(`(pg_catalog.current_setting('max_connections')::int
        - pg_catalog.current_setting('superuser_reserved_connections')::int
        - COALESCE(pg_catalog.current_setting('reserved_connections', true), '0')::int)`),
  nowMs: asNumber(epochMs('pg_catalog.clock_timestamp()')),
};

export type ServerNow = RowOf<typeof SERVER_NOW>;

/** No parameters. */
export const serverSql = (): string => `SELECT ${selected(SERVER_NOW)}`;

/** Settings of this session and where each comes from. Parameter: their names. */
export const settingsSql = (): string => `
${ON_PRIMARY}
SELECT s.name, s.setting, s.unit, s.source
FROM pg_catalog.pg_settings s
WHERE s.name = ANY ($1::text[])
ORDER BY s.name`;

/** Rights of this role. Parameters: the schema, the tables, the functions with their arguments. */
export const rightsSql = (): string => `
SELECT 'schema' AS kind, n.nspname::text AS name, 'USAGE' AS privilege,
       pg_catalog.has_schema_privilege(n.oid, 'USAGE')::text AS has
FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text
UNION ALL
SELECT 'table', t.name, p.privilege,
       pg_catalog.has_table_privilege(pg_catalog.to_regclass(t.name)::oid, p.privilege)::text
FROM pg_catalog.unnest($2::text[]) AS t(name),
     pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p(privilege)
WHERE pg_catalog.to_regclass(t.name) IS NOT NULL
UNION ALL
SELECT 'function', f.name, 'EXECUTE',
       pg_catalog.has_function_privilege(pg_catalog.to_regprocedure(f.name)::oid, 'EXECUTE')::text
FROM pg_catalog.unnest($3::text[]) AS f(name)
WHERE pg_catalog.to_regprocedure(f.name) IS NOT NULL`;

/**
 * Nodes that left without a word: silent for longer than $1 ms, and not idle. With what they still
 * hold a lease of, and what is due although they held it.
 */
export const silentNodesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT n.id, ${epochMs('clock.now - n.seen_at')}::text AS silent_ms, COALESCE(l.held, 0)::text AS held
FROM clock, ${tables.node} n
LEFT JOIN (SELECT d.leased_by, pg_catalog.count(*) AS held FROM ${tables.delay} d
           WHERE d.leased_by IS NOT NULL GROUP BY d.leased_by) l ON l.leased_by = n.id
WHERE GREATEST(n.seen_at, n.idle_until) < clock.now - $1::float8 * interval '1 millisecond'
ORDER BY n.seen_at`;

/** Rows that no node can read, by what is wrong with them; also those set aside. No parameters. */
export const unreadableSql = (tables: Tables): string => `
WITH ${clock(tables)},
wrong AS (
  SELECT d.id, ${wrongWith('d')} AS why FROM ${tables.delay} d
)
SELECT w.why, pg_catalog.count(*)::text AS count, pg_catalog.min(w.id)::text AS example
FROM wrong w
WHERE w.why IS NOT NULL
GROUP BY w.why
ORDER BY w.why`;

/** Leases that have ended and that no node takes over, for longer than $1 ms. */
export const expiredLeasesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT d.leased_by AS node, pg_catalog.count(*)::text AS count, pg_catalog.min(d.id)::text AS example
FROM clock, ${tables.delay} d
WHERE d.leased_by IS NOT NULL AND ${wakeSql('d')} < clock.now - $1::float8 * interval '1 millisecond'
GROUP BY d.leased_by
ORDER BY d.leased_by`;
