import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { commandLine } from '../integration/command-line/support/command-line.js';
import { ReplicatedPair } from './support/replicated-pair.js';
import { until } from '../support/until.js';
import {
  examine,
  type Finding,
  parse,
  parseHealthLimits,
  withSession,
} from '../support/command-line.js';

/** What can only be planted in a server of its own. */

const CONNECTIONS = 100;

let pair: ReplicatedPair;
let clients: Client[] = [];

beforeAll(async () => {
  pair = await ReplicatedPair.open('asynchronous', { max_prepared_transactions: 2 });
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  clients = [];
});

afterAll(() => pair.close());

/** What `doctor` says of it; a snapshot counts as held at once. */
async function findings(url: string, check: string): Promise<Finding[]> {
  const context = { given: parse(['doctor']), environment: { DATABASE_URL: url } };
  const all = await withSession(context, (session) =>
    examine(session, '1.2.3', { ...parseHealthLimits({}), snapshotAfterMs: 0 }),
  );
  return all.filter((each) => each.check === check);
}

/** Sessions that do nothing, until `count` of all are open. */
async function fill(count: number): Promise<void> {
  const url = await roleOf('crowd');
  const [row] = await pair.primary.sql<{ open: number }>(
    `SELECT count(*)::int - 1 AS open FROM pg_stat_activity WHERE backend_type = 'client backend'`,
  );
  for (let open = row!.open; open < count; open += 1) {
    const client = new Client({ connectionString: url });
    await client.connect();
    clients.push(client);
  }
}

/** A role without a reserved connection. */
async function roleOf(name: string): Promise<string> {
  await pair.primary.sql(
    `DO $$ BEGIN CREATE ROLE ${name} LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN END $$`,
  );
  const url = new URL(pair.primary.url);
  [url.username, url.password] = [name, 'secret'];
  return url.href;
}

it('a database that cannot hold every text', async () => {
  await pair.primary.sql(
    `CREATE DATABASE old ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  );
  const url = pair.primary.url.replace(/postgres$/, 'old');
  expect(await commandLine(url, ['migrate'])).toMatchObject({ exitCode: 0 });
  const { out, exitCode } = await commandLine(url, ['doctor']);
  expect(out).toContain('problem  encoding: the encoding of this database is LATIN1\n');
  expect(out).toContain("Do: Create a database with ENCODING 'UTF8' TEMPLATE template0");
  expect(exitCode).toBe(1);
});

it('a standby, whose other looks go on', async () => {
  await pair.caughtUp();
  const { out, exitCode } = await commandLine(pair.replica.url, ['doctor']);
  expect(exitCode).toBe(1);
  expect(out).toMatch(
    /^problem  writes: this server is a standby\n.*\n +Do: Connect to the primary\.$/m,
  );
  expect(out).toMatch(/^ok +drift: /m);
  expect(out).not.toContain('could not be checked');
});

it('connections that are nearly all taken', async () => {
  await fill(81);
  expect(await findings(pair.primary.url, 'connections')).toMatchObject([
    {
      level: 'problem',
      found: expect.stringMatching(/^8\d of 97 connections are open$/),
      todo: 'Raise max_connections, make the pools or transactionalConnections smaller, or put PgBouncer in between.',
      sql: 'ALTER SYSTEM SET max_connections = 200; -- needs a restart',
    },
  ]);
});

it('no connection at all', async () => {
  const url = await roleOf('shop');
  // Three are reserved for superusers.
  await fill(CONNECTIONS - 3);
  const { err, exitCode } = await commandLine(url, ['doctor']);
  expect(exitCode).toBe(1);
  expect(err).toMatch(
    /^nestjs-delay-queue: the server has no connection left for this role \(.*\)\./,
  );
  expect(err).toContain('raise max_connections');
});

it('a prepared transaction that was forgotten, and its remedy', async () => {
  await pair.primary.sql(
    `BEGIN; UPDATE delay_queue.node SET id = id; INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
       VALUES ('n', '{}', false, now(), now()); PREPARE TRANSACTION 'it''s forgotten'`,
  );
  const [found, ...others] = await findings(pair.primary.url, 'snapshots');
  expect([found, others]).toMatchObject([
    {
      level: 'problem',
      found: expect.stringMatching(
        /^prepared transaction it's forgotten of postgres has held a snapshot for \d/,
      ),
      sql: "ROLLBACK PREPARED 'it''s forgotten'",
    },
    [],
  ]);
  await pair.primary.sql(found!.sql!);
  expect(
    await until(
      () => findings(pair.primary.url, 'snapshots'),
      ([first]) => first?.level === 'ok',
    ),
  ).toHaveLength(1);
});
