import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import type { TalkativeMessage } from './fixtures/talkative-node.js';

/** Logs are read by more people than rows. */
const SECRET = 'secret4711';
const PASSWORD = 'password0815';

let database: TestDatabase;
let owner: Client;
let role: string;
let running: NodeProcess<TalkativeMessage> | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
  owner = new Client({ connectionString: database.url });
  await owner.connect();
  role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  await owner.query(`
    CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}';
    GRANT USAGE ON SCHEMA delay_queue TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delay_queue TO ${role}`);
});

afterEach(async () => {
  if (running?.running) await running.kill('SIGKILL');
  await owner.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await owner.end();
  await database.drop({ force: true });
});

function urlOf(change: (url: URL) => void = () => {}): string {
  const url = new URL(database.url);
  url.username = role;
  url.password = PASSWORD;
  change(url);
  return url.href;
}

function startTalkative(): NodeProcess<TalkativeMessage> {
  running = NodeProcess.start<TalkativeMessage>('test/security/fixtures/talkative-node.ts', {
    env: { DELAY_URL: urlOf(), SECRET, NO_COLOR: '1' },
  });
  return running;
}

it('whatever fails, no payload is in a log line, an event or an error of the library', async () => {
  const node = startTalkative();
  const { events } = await node.waitFor((message) => message.events !== undefined);
  await node.waitForOutput(/test\.sql #\d+ \(test\.sql\) is a dead letter/);
  expect(await node.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  // It has said a lot, at all levels.
  expect(node.output).toMatch(/is a dead letter after 1 attempts: no such order/);
  expect(node.output).toMatch(/its backoff fails/);
  expect(node.output).toMatch(/is over but its handler still runs/);
  expect(node.output).toMatch(/payload\.more: is undefined/);
  expect(node.output).not.toContain(SECRET);
  expect(events).not.toContain(SECRET);
  const { rows } = await owner.query<{ error: string }>(
    'SELECT last_error AS error FROM delay_queue.delay WHERE last_error IS NOT NULL',
  );
  expect(rows.length).toBeGreaterThan(5);
  expect(JSON.stringify(rows)).not.toContain(SECRET);
});

it('a database that turns the node away is a trouble in the log, without password or payload', async () => {
  const node = startTalkative();
  await node.waitFor(({ settled }) => settled === true);
  await owner.query(`ALTER ROLE ${role} NOLOGIN`);
  await owner.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [
    role,
  ]);
  await node.waitForOutput(/listen failed and is tried again/);
  await owner.query(`ALTER ROLE ${role} LOGIN`);
  await node.waitForOutput(/listen works again/);
  await owner.query('ALTER TABLE delay_queue.delay RENAME TO hidden');
  await node.waitForOutput(/(?:sweep|load) failed and is tried again/);
  await owner.query('ALTER TABLE delay_queue.hidden RENAME TO delay');
  await node.kill('SIGTERM');
  expect(node.output).not.toContain(PASSWORD);
  expect(node.output).not.toContain(SECRET);
});

/** A port on which nobody listens any more. */
async function closedPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === 'object' && address ? String(address.port) : '1';
}

const NO_DATABASES: [what: string, make: () => Promise<string> | string][] = [
  ['a wrong password', () => urlOf((url) => (url.password = `${PASSWORD}-wrong`))],
  ['a database that does not exist', () => urlOf((url) => (url.pathname = '/nowhere'))],
  ['a role that does not exist', () => urlOf((url) => (url.username = 'nobody4711'))],
  [
    'a port on which nobody listens',
    async () => {
      const port = await closedPort();
      return urlOf((url) => (url.port = port));
    },
  ],
  ['a role without the rights', () => urlOf()],
  ['a port that is no port', () => urlOf().replace(/:\d+\//, ':notaport/')],
  ['no URL at all', () => `postgresql//${role}:${PASSWORD}@nowhere`],
  ['a password that breaks the URL', () => `postgresql://${role}:${PASSWORD}/%@127.0.0.1:1/x`],
];

describe('a shop that cannot use its database does not print the password:', () => {
  it.each(NO_DATABASES)('%s', async (_what, make) => {
    const shop = NodeProcess.start('src/main.ts', {
      env: { DATABASE_URL: await make(), PORT: '0', NO_COLOR: '1' },
    });
    running = shop;
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    expect(shop.output).toMatch(/\S/);
    expect(shop.output).not.toContain(PASSWORD);
  });
});
