import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { stopLater } from '../shutdown.js';
import { ServerCpu } from './server-cpu.js';

/** As a user would have it: what is acknowledged is on the disk. */
const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '512MB',
  // Four processes of the best batched peer ask for 25 each.
  max_connections: '300',
};

/** Loaded but counting nothing, until a scenario switches it on for its own database. */
const COUNTER = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
};

/** A database of one measurement. */
export interface BenchDatabase {
  name: string;
  url: string;
  drop: () => Promise<void>;
}

/** The Postgres that all systems of a run share. */
export class BenchServer {
  readonly #templates = new Map<string, Promise<BenchDatabase>>();

  private constructor(
    readonly url: string,
    /** For whatever is asked from outside the measured database, so that it is not counted. */
    readonly client: Client,
    readonly cpu: ServerCpu,
  ) {}

  static async open(log: (line: string) => void): Promise<BenchServer> {
    const url = process.env.BENCH_DATABASE_URL ?? (await startOwn(log));
    const client = await connect(url);
    stopLater(() => client.end());
    return new BenchServer(url, client, await ServerCpu.of(client, new URL(url).hostname));
  }

  /**
   * A fresh database that looks like `build` left it. Built once per `key` and copied from then on:
   * every round begins with the very same pages.
   */
  async database(key: string, build: (url: string) => Promise<void>): Promise<BenchDatabase> {
    let template = this.#templates.get(key);
    if (template === undefined) {
      template = this.#build(build);
      this.#templates.set(key, template);
    }
    const database = await this.#create((await template).name);
    // So that no measurement pays for the writes of another, or of its own preparation.
    await this.client.query('CHECKPOINT');
    return database;
  }

  async #build(build: (url: string) => Promise<void>): Promise<BenchDatabase> {
    const database = await this.#create('template0');
    await build(database.url);
    const client = await connect(database.url);
    await client.query('VACUUM (ANALYZE)');
    await client.end();
    return database;
  }

  async #create(template: string): Promise<BenchDatabase> {
    const name = `bench_${randomBytes(5).toString('hex')}`;
    await this.client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    const drop = stopLater(() => this.client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    const url = new URL(this.url);
    url.pathname = `/${name}`;
    return { name, url: url.href, drop };
  }
}

async function startOwn(log: (line: string) => void): Promise<string> {
  const server = await startEmbeddedPostgres({
    dataDir: join(tmpdir(), `delay-queue-bench-${randomBytes(5).toString('hex')}`),
    settings: { ...DURABLE, ...COUNTER },
    temporary: true,
    log,
  });
  stopLater(() => server.stop());
  return server.url;
}

/** A connection that may be cut off by a stop without bringing the process down. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'bench' });
  client.on('error', () => {});
  await client.connect();
  return client;
}
