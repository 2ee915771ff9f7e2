import {
  asNumber,
  asText,
  epochMs,
  ON_PRIMARY,
  type RowOf,
  selected,
  SERVER,
} from '../../core/ops.js';

/** The server, this session and its role. */
export const SERVER_NOW = {
  ...SERVER,
  database: asText('pg_catalog.current_database()::text'),
  connections: asNumber(`(SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity a
        WHERE a.backend_type = 'client backend')`),
  connectionsMax: asNumber(`(pg_catalog.current_setting('max_connections')::int
        - pg_catalog.current_setting('superuser_reserved_connections')::int
        - COALESCE(pg_catalog.current_setting('reserved_connections', true), '0')::int)`),
  nowMs: asNumber(epochMs('pg_catalog.clock_timestamp()')),
};

export type ServerNow = RowOf<typeof SERVER_NOW>;

export const serverSql = (): string => `SELECT ${selected(SERVER_NOW)}`;

/** Settings of this session. Parameter: their names. */
export const settingsSql = (): string => `
${ON_PRIMARY}
SELECT s.name, s.setting FROM pg_catalog.pg_settings s WHERE s.name = ANY ($1::text[])`;

export const RIGHT = {
  kind: asText<'schema' | 'table' | 'function'>('r.kind'),
  name: asText('r.name'),
  privilege: asText('r.privilege'),
  has: asText<'true' | 'false' | null>('r.has'),
};

export type Right = RowOf<typeof RIGHT>;

/** Rights of this role. Parameters: the schema, the tables, the functions with their arguments. */
export const rightsSql = (): string => `
SELECT ${selected(RIGHT)}
FROM (
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
  WHERE pg_catalog.to_regprocedure(f.name) IS NOT NULL
) r`;
