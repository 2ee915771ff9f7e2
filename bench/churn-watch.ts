import type { Client } from 'pg';

/** The state of one of the tables, as the server's statistics have it. */
export interface TableState {
  bytes: number;
  indexBytes: number;
  deadRows: number;
  updates: number;
  hotUpdates: number;
  vacuums: number;
}

export interface State {
  delay: TableState;
  history: TableState;
  walBytes: number;
}

/** Backends hand in their statistics about once a second: these figures are a second old at most. */
export async function look(client: Client): Promise<State> {
  const { rows } = await client.query<TableState & { name: 'delay' | 'history'; walBytes: number }>(
    `SELECT relname AS name, pg_relation_size(relid)::float8 AS bytes,
            pg_indexes_size(relid)::float8 AS "indexBytes", n_dead_tup::float8 AS "deadRows",
            n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS "hotUpdates",
            (autovacuum_count + vacuum_count)::float8 AS vacuums,
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS "walBytes"
     FROM pg_stat_user_tables WHERE schemaname = 'delay_queue'`,
  );
  const delay = rows.find(({ name }) => name === 'delay');
  const history = rows.find(({ name }) => name === 'history');
  if (delay === undefined || history === undefined)
    throw new Error('the tables have no statistics');
  return { delay, history, walBytes: delay.walBytes };
}
