import {
  asFlag,
  asMs,
  asNumber,
  asText,
  byPurpose,
  epochMs,
  reader,
  type RowOf,
  type Runner,
  selected,
  type TextAnswer,
} from '../../core/ops.js';

/* What the server says of vacuum: for the health of a node, and for the doctor of the command line. */

/** What keeps vacuum from removing rows, or the server from removing WAL. */
const HOLDER = {
  kind: asText<'session' | 'prepared transaction' | 'slot'>('h.kind'),
  name: asText('h.name'),
  role: asText<string | null>('h.role'),
  application: asText<string | null>('h.application'),
  state: asText<string | null>('h.state'),
  /** Null: it is not known since when. */
  heldMs: asMs<number | null>('h.held_ms'),
};

export type HolderRow = RowOf<typeof HOLDER>;

const sinceMs = (instant: string): string => epochMs(`pg_catalog.clock_timestamp() - ${instant}`);

/**
 * Longest held first, as far as this role may see it. Sessions in other databases hold nothing back here, nor do
 * autovacuum's own snapshots.
 */
export const holdersSql = (): string => `
SELECT ${selected(HOLDER)}
FROM (
  SELECT 'session' AS kind, a.pid::text AS name, a.usename::text AS role, a.application_name AS application, a.state,
         ${sinceMs('a.xact_start')} AS held_ms
  FROM pg_catalog.pg_stat_activity a
  WHERE a.datname = pg_catalog.current_database() AND a.backend_xmin IS NOT NULL
    AND a.pid <> pg_catalog.pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
  UNION ALL
  SELECT 'prepared transaction', p.gid, p.owner::text, NULL, NULL, ${sinceMs('p.prepared')}
  FROM pg_catalog.pg_prepared_xacts p WHERE p.database = pg_catalog.current_database()
  UNION ALL
  SELECT 'slot', s.slot_name::text, NULL, s.slot_type, CASE WHEN s.active THEN 'active' ELSE 'inactive' END, NULL
  FROM pg_catalog.pg_replication_slots s WHERE NOT s.active OR s.xmin IS NOT NULL
) h
ORDER BY h.held_ms DESC NULLS LAST, h.name`;

/** The size of a table and what vacuum does for it. */
const RELATION = {
  schema: asText('r.schema'),
  table: asText('r.relname', 'table_name'),
  rows: asNumber('r.rows'),
  deadRows: asNumber('r.dead_rows'),
  bytes: asNumber('r.bytes'),
  indexBytes: asNumber('r.index_bytes'),
  isVacuumed: asFlag('r.is_vacuumed'),
  vacuumedAt: asText<string | null>('r.vacuumed_at'),
};

export type RelationRow = RowOf<typeof RELATION>;

/** Of the tables that grow. Parameter: the schema. */
export const relationsSql = (): string => `
SELECT ${selected(RELATION)}
FROM (
  SELECT n.nspname::text AS schema, c.relname::text AS relname, s.n_live_tup AS rows, s.n_dead_tup AS dead_rows,
         pg_catalog.pg_table_size(c.oid) AS bytes, pg_catalog.pg_indexes_size(c.oid) AS index_bytes,
         pg_catalog.current_setting('autovacuum') = 'on' AND pg_catalog.current_setting('track_counts') = 'on'
           AND NOT COALESCE(pg_catalog.array_to_string(c.reloptions, ',') ~* 'autovacuum_enabled=(false|off|no|0)', false)
           AS is_vacuumed,
         GREATEST(s.last_vacuum, s.last_autovacuum)::text AS vacuumed_at
  FROM pg_catalog.pg_class c
       JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid
  WHERE n.nspname = $1::text AND c.relkind = 'r' AND c.relname IN ('delay', 'history')
) r
ORDER BY r.relname`;

const SQL = byPurpose({ holders: holdersSql(), relations: relationsSql() });

/** What keeps vacuum from removing rows, longest held first. */
export const readHolders = async (runner: Runner): Promise<HolderRow[]> =>
  (await runner.query<TextAnswer>(SQL.holders, [])).map(reader(HOLDER));

/** The tables that grow. */
export const readRelations = async (runner: Runner, schema: string): Promise<RelationRow[]> =>
  (await runner.query<TextAnswer>(SQL.relations, [schema])).map(reader(RELATION));
