import type { Client } from 'pg';
import type { BenchDatabase, BenchServer } from './server/bench-server.js';

/** Counts the statements of one database, from a connection to another one. */
export class StatementCounter {
  private constructor(
    private readonly client: Client,
    readonly source: 'pg_stat_statements' | 'transactions in pg_stat_database, autovacuum included',
  ) {}

  static async of({ client }: BenchServer): Promise<StatementCounter> {
    const { rows } = await client.query<{ libraries: string }>(
      "SELECT current_setting('shared_preload_libraries') AS libraries",
    );
    // A server that is not ours may do without; nothing is installed there then.
    if (!rows[0]?.libraries.includes('pg_stat_statements')) {
      return new StatementCounter(client, 'transactions in pg_stat_database, autovacuum included');
    }
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    return new StatementCounter(client, 'pg_stat_statements');
  }

  /** Before any worker connects: the setting takes hold of connections opened from then on. */
  async watch({ name }: BenchDatabase): Promise<void> {
    if (this.source !== 'pg_stat_statements') return;
    await this.client.query(`ALTER DATABASE ${name} SET pg_stat_statements.track = 'top'`);
  }

  async count({ name }: BenchDatabase): Promise<number> {
    const sql =
      this.source === 'pg_stat_statements'
        ? `SELECT COALESCE(sum(calls), 0)::float8 AS count
           FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1`
        : 'SELECT xact_commit::float8 AS count FROM pg_stat_database WHERE datname = $1';
    const { rows } = await this.client.query<{ count: number }>(sql, [name]);
    return rows[0]?.count ?? Number.NaN;
  }

  /** Of the delay queue: its statement is the one that sets a lease. */
  async claims({ name }: BenchDatabase): Promise<number> {
    if (this.source !== 'pg_stat_statements') return Number.NaN;
    const { rows } = await this.client.query<{ count: number }>(
      `SELECT COALESCE(sum(calls), 0)::float8 AS count
       FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
       WHERE d.datname = $1 AND query LIKE '%leased_until = %' AND query LIKE '%max_attempts%wanted%'`,
      [name],
    );
    return rows[0]?.count ?? Number.NaN;
  }

  /** Makes room: entries of a dropped database would stay and push those of the next one out. */
  async forget({ name }: BenchDatabase): Promise<void> {
    if (this.source !== 'pg_stat_statements') return;
    await this.client.query(
      'SELECT pg_stat_statements_reset(0, oid, 0) FROM pg_database WHERE datname = $1',
      [name],
    );
  }
}
