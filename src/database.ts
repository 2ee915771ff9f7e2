import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from './embedded-postgres/embedded-postgres.js';
import { messageOf } from './embedded-postgres/embedded-postgres.error.js';
import { CLUSTER_NAME } from './embedded-postgres/server.js';
import { projectRoot } from './project-root.js';
import { StartError } from './start.error.js';

/** The shop's database while the shop runs. */
export interface Database {
  url: string;
  /** To be called last, when no connection is needed any more. */
  stop(): Promise<void>;
}

/** Enough to find out whether a server on this machine is up. */
const PROBE_TIMEOUT_MS = 2_000;

/**
 * `DATABASE_URL` if it is set, else the embedded Postgres in `.data/postgres` of the project.
 * Production refuses the embedded one.
 */
export async function openDatabase(options: {
  prod: boolean;
  env?: NodeJS.ProcessEnv;
  /** Receives the few lines that are worth printing. Default: none are printed. */
  log?: (line: string) => void;
}): Promise<Database> {
  const { prod, env = process.env, log } = options;
  const url = env.DATABASE_URL;
  if (prod && !url) {
    throw new StartError(
      'DATABASE_URL is not set. In production it names the Postgres to use, for example ' +
        'DATABASE_URL=postgresql://user:password@host:5432/shop npm run start:prod',
    );
  }
  if (!url) return openEmbedded(join(projectRoot(), '.data', 'postgres'), log);

  const dataDir = prod ? undefined : await embeddedDataDir(url);
  if (!dataDir) return { url, stop: async () => {} };
  const embedded = await openEmbedded(dataDir, log);
  return { url, stop: () => embedded.stop() };
}

async function openEmbedded(
  dataDir: string,
  log: (line: string) => void = () => {},
): Promise<Database> {
  try {
    return await startEmbeddedPostgres({ dataDir, log });
  } catch (error) {
    throw new StartError(messageOf(error), { cause: error });
  }
}

/**
 * A second shop may be started with the URL of the first one. It then counts as a user of that
 * embedded server, which must outlive the first shop. Asks the server itself, so its folder may be
 * anywhere.
 */
async function embeddedDataDir(url: string): Promise<string | undefined> {
  if (!URL.canParse(url) || new URL(url).hostname !== '127.0.0.1') return undefined;
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ cluster: string; data: string }>(
      `SELECT current_setting('cluster_name') AS cluster, current_setting('data_directory') AS data`,
    );
    return rows[0]?.cluster === CLUSTER_NAME ? dirname(rows[0].data) : undefined;
  } catch {
    // Unreachable, or not permitted: not ours to manage. The shop's own connection explains more.
    return undefined;
  } finally {
    await client.end().catch(() => {});
  }
}
