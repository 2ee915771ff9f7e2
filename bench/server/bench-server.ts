import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type Pool, type PoolClient } from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { serverFacts } from '../report/machine.js';
import { UsageError } from '../run/command-line.js';
import { stopLater } from '../run/shutdown.js';
import { type CpuTime, parentOf, treeCpuTime } from './process-cpu.js';

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

export const EMBEDDED = 'embedded';
export const DISTRIBUTION = 'distribution';

/** Where Debian and its kin have the servers that they distribute. */
const DISTRIBUTED = '/usr/lib/postgresql';

const LOCAL_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** The programs of the newest server that the distribution has installed. */
export function distributedPrograms(): string | undefined {
  const versions = existsSync(DISTRIBUTED) ? readdirSync(DISTRIBUTED) : [];
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join(DISTRIBUTED, newest, 'bin');
}

/**
 * Opens each server once.
 * @param first the one that is meant when none is named
 * @param tellFact told what there is to know of each
 */
export function openServers(
  first: string | undefined,
  log: (line: string) => void,
  tellFact: (fact: string) => void,
): (name?: string) => Promise<BenchServer> {
  const servers = new Map<string, Promise<BenchServer>>();
  const open = async (name: string): Promise<BenchServer> => {
    const server = await BenchServer.open(log, name);
    for (const fact of await serverFacts(server.client)) tellFact(fact);
    return server;
  };
  return (name = first ?? EMBEDDED) => {
    const server = servers.get(name) ?? open(name);
    servers.set(name, server);
    return server;
  };
}

/** A database of one measurement. */
export interface BenchDatabase {
  name: string;
  url: string;
  drop: () => Promise<void>;
}

/** A Postgres that all systems of a run share. */
export class BenchServer {
  readonly #templates = new Map<string, Promise<BenchDatabase>>();

  private constructor(
    readonly url: string,
    /** For whatever is asked from outside the measured database, so that it is not counted. */
    readonly client: Client,
    readonly version: string,
    private readonly postmasterPid: number | undefined,
  ) {}

  static async open(log: (line: string) => void, name = EMBEDDED): Promise<BenchServer> {
    const url = process.env.BENCH_DATABASE_URL ?? (await startOwn(log, name));
    const client = await connect(url);
    stopLater(() => client.end());
    const { rows } = await client.query<{ pid: number; version: string }>(
      `SELECT pg_backend_pid() AS pid, split_part(current_setting('server_version'), '.', 1) AS version`,
    );
    const { pid = 0, version = '' } = rows[0] ?? {};
    const isLocal = LOCAL_HOSTS.has(new URL(url).hostname);
    const postmaster = isLocal ? await parentOf(pid, 'postgres') : undefined;
    return new BenchServer(url, client, version, postmaster);
  }

  /** Of the whole server; NaN where it is not on this machine, or there is no `/proc`. */
  cpuTime(): Promise<CpuTime> {
    return treeCpuTime(this.postmasterPid);
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
    await withClient(database.url, (client) => client.query('VACUUM (ANALYZE)'));
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

/** The embedded one with settings of a careful user; any other as `initdb` leaves it. */
async function startOwn(log: (line: string) => void, name: string): Promise<string> {
  const programs = name === DISTRIBUTION ? distributedPrograms() : name;
  if (name !== EMBEDDED && (programs === undefined || !existsSync(join(programs, 'initdb')))) {
    throw new UsageError(`--postgres ${name}: there is no initdb in ${programs ?? DISTRIBUTED}.`);
  }
  const server = await startEmbeddedPostgres({
    dataDir: join(tmpdir(), `delay-queue-bench-${randomBytes(5).toString('hex')}`),
    ...(name === EMBEDDED ? { settings: { ...DURABLE, ...COUNTER } } : { programs: programs! }),
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

/** On a connection of its own. */
export async function withClient<Answer>(
  url: string,
  use: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const client = await connect(url);
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** As an application does it: a connection of its pool, given back after COMMIT. */
export async function inTransaction<Answer>(
  pool: Pool,
  use: (client: PoolClient) => Promise<Answer>,
): Promise<Answer> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const answer = await use(client);
    await client.query('COMMIT');
    client.release();
    return answer;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** The only figure that a statement answers; NaN of nothing. */
export async function numberOf(
  client: Client,
  sql: string,
  values: unknown[] = [],
): Promise<number> {
  const { rows } = await client.query<Record<string, unknown>>(sql, values);
  return Number(Object.values(rows[0] ?? {})[0] ?? Number.NaN);
}

export const numberAt = (url: string, sql: string, values?: unknown[]): Promise<number> =>
  withClient(url, (client) => numberOf(client, sql, values));

/** A snapshot that keeps every vacuum of that database from removing anything. Ends with its connection. */
export async function holdSnapshot(url: string): Promise<Client> {
  const client = await connect(url);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT 1 FROM delay_queue.delay LIMIT 1');
  return client;
}
