import { randomInt } from 'node:crypto';
import { Client } from 'pg';
import { lentConnection } from './server-connection.js';

/** One run of the suite on one server: all it makes there carries its prefix. */
export interface TestRun {
  id: number;
  /** A server on which databases can be created. */
  serverUrl: string;
  /** The rest of `CREATE DATABASE`. */
  cloning: string;
}

const VARIABLE = 'DELAY_QUEUE_TEST_RUN';
const PREFIX = 'delay_queue_test';

/** Lock class of the runs; the second key is the run's id. */
const RUN_LOCK = 1_685_418_100;

/**
 * The life of a database takes 22 ms of the server's processor instead of 42 if it is a copy of the template's files: among
 * them is the one from which a backend reads the catalog. The copy takes two checkpoints, which cost little without `fsync`.
 */
const CLONING = `SELECT CASE WHEN current_setting('fsync') = 'off' AND current_setting('server_version_num')::int >= 150000
                             THEN 'STRATEGY FILE_COPY' ELSE '' END AS cloning`;

export async function newRun(client: Client, serverUrl: string): Promise<TestRun> {
  const { rows } = await client.query<Pick<TestRun, 'cloning'>>(CLONING);
  return { id: randomInt(1, 2 ** 31), serverUrl, cloning: rows[0]?.cloning ?? '' };
}

export const prefixOf = (run: TestRun): string => `${PREFIX}_${run.id}`;
export const templateOf = (run: TestRun): string => `${prefixOf(run)}_template`;

/** Jest's workers are forked after the global setup and inherit its environment. */
export function publish(run: TestRun): void {
  process.env[VARIABLE] = JSON.stringify(run);
}

export function currentRun(): TestRun {
  const text = process.env[VARIABLE];
  if (!text) throw new Error('No test server: run the tests with `npm test`.');
  const run: TestRun = JSON.parse(text);
  return run;
}

export function urlOf(run: TestRun, database: string): string {
  const url = new URL(run.serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

export async function onServer<T>(run: TestRun, work: (client: Client) => Promise<T>): Promise<T> {
  const lent = lentConnection(run.serverUrl);
  if (lent !== undefined) return await work(await lent);
  const client = new Client({ connectionString: run.serverUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Says "this run is alive" for as long as the client is connected. */
export async function holdRun(client: Client, run: TestRun): Promise<void> {
  await client.query('SELECT pg_advisory_lock($1, $2)', [RUN_LOCK, run.id]);
}

export async function dropDatabasesOf(client: Client, run: TestRun): Promise<void> {
  for (const { database } of await testDatabases(client, run.id)) {
    await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  }
}

/** Runs that were killed dropped nothing; their lock is free. */
export async function dropDatabasesOfDeadRuns(client: Client): Promise<void> {
  for (const { database, runId } of await testDatabases(client)) {
    const lock = 'SELECT pg_try_advisory_lock($1, $2) AS dead';
    const { rows } = await client.query<{ dead: boolean }>(lock, [RUN_LOCK, runId]);
    if (!rows[0]?.dead) continue;
    await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await client.query('SELECT pg_advisory_unlock($1, $2)', [RUN_LOCK, runId]);
  }
}

async function testDatabases(
  client: Client,
  ofRun?: number,
): Promise<{ database: string; runId: number }[]> {
  const { rows } = await client.query<{ datname: string }>(
    `SELECT datname FROM pg_database WHERE datname ~ '^${PREFIX}_[0-9]+_'`,
  );
  return rows
    .map(({ datname }) => ({
      database: datname,
      runId: Number(datname.slice(PREFIX.length + 1).split('_')[0]),
    }))
    .filter(({ runId }) => ofRun === undefined || runId === ofRun);
}
