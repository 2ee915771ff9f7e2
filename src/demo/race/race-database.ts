import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../app.module.js';
import { startEmbeddedPostgres } from '../../embedded-postgres/embedded-postgres.js';
import { messageOf } from '../../embedded-postgres/embedded-postgres.error.js';
import type { ClosingTime } from './closing-time.js';
import { PRICE_CENTS, RACE_SKUS } from './plan.js';
import { RaceError } from './race-error.js';

/** Connections of one process: the pool, the handlers' and the engine's. */
const CONNECTIONS_PER_PROCESS = 28;
const CONNECTIONS_OF_THE_RACE = 12;
const STOCK = 1_000_000;

/** A database only for this race, with the shop's tables and something to sell. */
export interface RaceDatabase {
  url: string;
  client: Client;
}

/** The database and the client are removed when the race is over. @throws RaceError */
export async function openRaceDatabase(
  processes: number,
  closing: ClosingTime,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RaceDatabase> {
  const connections = processes * CONNECTIONS_PER_PROCESS + CONNECTIONS_OF_THE_RACE;
  const url = env.DATABASE_URL
    ? await databaseOn(env.DATABASE_URL, connections, closing)
    : await throwAwayServer(connections, closing);
  await fill(url);
  return { url, client: await connect(url, closing) };
}

async function throwAwayServer(connections: number, closing: ClosingTime): Promise<string> {
  try {
    const server = await startEmbeddedPostgres({
      dataDir: join(tmpdir(), `demo-race-${randomBytes(5).toString('hex')}`),
      settings: { max_connections: Math.max(100, connections) },
      temporary: true,
    });
    return closing.add(server, () => server.stop()).url;
  } catch (error) {
    throw new RaceError(messageOf(error), { cause: error });
  }
}

async function databaseOn(url: string, needed: number, closing: ClosingTime): Promise<string> {
  const name = `demo_race_${randomBytes(5).toString('hex')}`;
  try {
    const client = await connect(url, closing);
    const { rows } = await client.query<{ free: number }>(
      `SELECT current_setting('max_connections')::int - count(*)::int AS free
       FROM pg_stat_activity WHERE backend_type = 'client backend'`,
    );
    const free = rows[0]?.free ?? 0;
    if (free < needed) {
      throw new RaceError(
        `The race takes up to ${needed} connections, and the server of DATABASE_URL has ${free} left. ` +
          'Take fewer --processes, raise max_connections, or unset DATABASE_URL.',
      );
    }
    await client.query(`CREATE DATABASE ${name}`);
    closing.add(client, () => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  } catch (error) {
    if (error instanceof RaceError) throw error;
    throw new RaceError(
      `The race makes a database of its own on the server of DATABASE_URL, and could not: ` +
        `${messageOf(error)}. Unset DATABASE_URL to run it on a Postgres that it starts itself.`,
      { cause: error },
    );
  }
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

async function fill(url: string): Promise<void> {
  const dataSource = await new DataSource(databaseOptions(url)).initialize();
  try {
    await runMigrations(dataSource);
    await dataSource.query(
      `INSERT INTO sku (sku, name, price, stock, initial_stock)
       SELECT sku, 'For the race', $2, $3, $3 FROM unnest($1::text[]) AS sku`,
      [RACE_SKUS, PRICE_CENTS, STOCK],
    );
  } finally {
    await dataSource.destroy();
  }
}

async function connect(url: string, closing: ClosingTime): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'demo:race' });
  client.on('error', () => {});
  await client.connect();
  return closing.add(client, () => client.end());
}
