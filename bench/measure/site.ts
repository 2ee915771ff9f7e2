import type { Client } from 'pg';
import { type Adapter, fillBeside } from '../adapters/adapter.js';
import type { Bench } from '../run/scenario.js';
import { type BenchDatabase, type BenchServer, numberOf } from '../server/bench-server.js';
import { cpuBetween, type CpuTime, cpuSecondsOf } from '../server/process-cpu.js';

/** What the servers of a measurement did; NaN where it cannot be told. */
export interface Work {
  cpu: CpuTime;
  cpuSeconds: number;
  /** Of Postgres; of another server the commands that it carried out. */
  statements: number;
  /** Written by the whole Postgres, whose only user is the bench. */
  walBytes: number;
  /** That wrote, in the whole Postgres: each took an id. */
  transactions: number;
}

/** Where one measurement takes place. */
export interface Site {
  url: string;
  /** Starts to count anew: what was done before is preparation. */
  begin(): Promise<void>;
  /** Since `begin`. */
  done(): Promise<Work>;
  drop(): Promise<void>;
}

interface SiteOptions {
  /** On request, because counting costs each of them a little. */
  countStatements?: boolean;
  /** Left out: the first of the run. */
  server?: BenchServer;
}

/**
 * A database filled by `build`, which is called once per `key`: each round begins with a copy of the
 * same pages. A system that keeps its delays elsewhere gets an empty database, and its own store
 * is built anew.
 */
export async function openSite(
  bench: Bench,
  { elsewhere }: Pick<Adapter, 'elsewhere'>,
  key: string,
  build: (url: string) => Promise<void>,
  { countStatements = false, server: given }: SiteOptions = {},
): Promise<Site> {
  const server = given ?? (await bench.server());
  const database = await (elsewhere
    ? server.database('empty', async () => {})
    : server.database(key, build));
  if (elsewhere) await build(database.url);
  const counter = countStatements ? await StatementCounter.of(server) : undefined;
  await counter?.watch(database);

  /** CPU is looked at last, so that looking at the others costs none of it. */
  const look = async (): Promise<Omit<Work, 'cpuSeconds'>> => {
    const statements = elsewhere ? elsewhere.commands() : counter?.count(database);
    const counted = {
      statements: (await statements) ?? Number.NaN,
      walBytes: elsewhere ? Number.NaN : await numberOf(server.client, WAL_BYTES),
      transactions: await numberOf(server.client, NEXT_TRANSACTION),
    };
    return { ...counted, cpu: await (elsewhere ?? server).cpuTime() };
  };
  let before: Omit<Work, 'cpuSeconds'> | undefined;
  return {
    url: database.url,
    async begin() {
      before = await look();
    },
    async done() {
      // Here first, for the same reason.
      const cpuAfter = await (elsewhere ?? server).cpuTime();
      const after = await look();
      const cpu = before ? cpuBetween(before.cpu, cpuAfter) : after.cpu;
      const since = (of: 'statements' | 'walBytes' | 'transactions'): number =>
        after[of] - (before?.[of] ?? Number.NaN);
      return {
        cpu,
        cpuSeconds: cpuSecondsOf(cpu),
        statements: since('statements'),
        walBytes: since('walBytes'),
        transactions: since('transactions'),
      };
    },
    async drop() {
      await counter?.forget(database);
      await database.drop();
    },
  };
}

/** With nothing but delays of the far future. */
export const openBeside = (
  bench: Bench,
  adapter: Adapter,
  count: number,
  options?: SiteOptions,
): Promise<Site> =>
  openSite(
    bench,
    adapter,
    `beside ${adapter.name} ${count}`,
    async (url) => {
      await adapter.prepare(url);
      await fillBeside(adapter, url, count);
    },
    options,
  );

/** Up to what is in the buffers: a commit that does not wait is not yet in the file. */
const WAL_BYTES = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8";

const NEXT_TRANSACTION = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text::float8';

/** How statements are counted in this run, for the notes below a table. */
export async function statementSource(bench: Bench): Promise<string> {
  const { source } = await StatementCounter.of(await bench.server());
  return `statements by ${source}; of a server of its own, its commands`;
}

/** Counts the statements of one database, from a connection to another one. */
class StatementCounter {
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

  count({ name }: BenchDatabase): Promise<number> {
    const sql =
      this.source === 'pg_stat_statements'
        ? `SELECT COALESCE(sum(calls), 0)::float8
           FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1`
        : 'SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = $1';
    return numberOf(this.client, sql, [name]);
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
