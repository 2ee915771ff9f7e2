import { Client } from 'pg';
import { codeOf, messageOf } from '../embedded-postgres/embedded-postgres.error.js';
import { StartError } from '../start.error.js';

const CONNECTS_WITHIN_MS = 5_000;
/** First of two 32-bit keys; the second is the number of the process. */
const NUMBERS_LOCK = 1_936_223_088;

/**
 * Names of this shop's processes. No other process on this database has them while this one lives.
 */
export interface AdmittedCall {
  names: string[];
  /** The database's clock when the names were reserved, ISO 8601. */
  at: string;
  release(): Promise<void>;
}

/**
 * Reserves names. Connecting also shows whether the database can be used at all.
 *
 * @throws StartError
 */
export async function reserveNames(databaseUrl: string, count: number): Promise<AdmittedCall> {
  const client = await connect(databaseUrl);
  const names: string[] = [];
  for (let number = 1; names.length < count; number++) {
    const { rows } = await client.query<{ ours: boolean }>(
      `SELECT pg_try_advisory_lock(${NUMBERS_LOCK}, $1::int) AS ours`,
      [number],
    );
    if (rows[0]!.ours) names.push(`shop-${number}`);
  }
  return {
    names,
    at: (await nowOf(client)).toISOString(),
    release: () => client.end().catch(() => {}),
  };
}

/**
 * Reads the database's clock. Connecting also shows whether the database can be used at all.
 *
 * @throws StartError
 */
export async function databaseNow(databaseUrl: string): Promise<Date> {
  const client = await connect(databaseUrl);
  try {
    return await nowOf(client);
  } finally {
    await client.end();
  }
}

async function nowOf(client: Client): Promise<Date> {
  const { rows } = await client.query<{ now: Date }>(`SELECT clock_timestamp() AS now`);
  return rows[0]!.now;
}

async function connect(databaseUrl: string): Promise<Client> {
  const client = clientFor(databaseUrl);
  // It may go away later: the code that works with it handles that.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw new StartError(trouble(error, databaseUrl), { cause: error });
  }
}

function clientFor(databaseUrl: string): Client {
  try {
    return new Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: CONNECTS_WITHIN_MS,
      application_name: 'shop supervisor',
    });
  } catch (error) {
    throw new StartError(NO_URL, { cause: error });
  }
}

const NO_URL =
  'DATABASE_URL is not a Postgres URL; write it as postgresql://user:password@host:5432/shop';

/** Says what to do, without the password. */
function trouble(error: unknown, databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return NO_URL;
  const { host, pathname, username } = new URL(databaseUrl);
  const code = codeOf(error);
  if (code === '3D000') {
    const name = decodeURIComponent(pathname.slice(1));
    return `The server at ${host} has no database "${name}". Create it, or correct DATABASE_URL`;
  }
  if (code.startsWith('28')) {
    return `The server at ${host} does not let "${username}" in (${code}). Correct DATABASE_URL`;
  }
  return (
    `No database answers at ${host} (${code || messageOf(error)}). Start it, or correct DATABASE_URL` +
    '; without DATABASE_URL, npm start uses an embedded Postgres'
  );
}
