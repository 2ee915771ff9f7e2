import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Client, type ClientConfig, Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { databaseGone, toFailure } from '../../support/command-line.js';
import { asRefusal, filtered, type ProblemKind } from '../../support/dashboard-parts.js';

let database: TestDatabase;
let silent: Server;
const sockets = new Set<Socket>();

beforeAll(async () => {
  database = await createTestDatabase();
  silent = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(
    0,
    '127.0.0.1',
  );
  await once(silent, 'listening');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
  await once(silent, 'close');
  await database.drop({ force: true });
});

const changed = (change: (url: URL) => void): string => {
  const url = new URL(database.url);
  change(url);
  return url.href;
};

async function ran(sql: string, config: ClientConfig = {}): Promise<unknown> {
  const client = new Client({ connectionString: database.url, ...config });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.query(sql).catch((error: unknown) => error);
  } catch (error) {
    return error;
  } finally {
    await client.end().catch(() => {});
  }
}

async function poolWithoutRoom(): Promise<unknown> {
  const pool = new Pool({ connectionString: database.url, max: 1 });
  const only = await pool.connect();
  pool.options.connectionTimeoutMillis = 20;
  const error = await pool.connect().catch((each: unknown) => each);
  only.release();
  await pool.end();
  return error;
}

async function lockThatIsHeld(): Promise<unknown> {
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE delay_queue.delay');
  const error = await ran(`SET lock_timeout = 20; LOCK TABLE delay_queue.delay`);
  await holder.end();
  return error;
}

/** Each cause, the problem that the page is told, and the words of its texts. */
const CAUSES: [cause: string, ProblemKind, RegExp, () => Promise<unknown>][] = [
  [
    'a port where nothing listens',
    'databaseGone',
    /cannot be reached/,
    () => ran('', { connectionString: changed((url) => (url.port = '1')) }),
  ],
  [
    'a server that says nothing',
    'databaseGone',
    /accepted no connection in time/,
    () => {
      const { port } = silent.address() as AddressInfo;
      return ran('', {
        connectionString: changed(
          (url) => ([url.hostname, url.port] = ['127.0.0.1', String(port)]),
        ),
        connectionTimeoutMillis: 50,
      });
    },
  ],
  [
    'a role that does not exist',
    'databaseGone',
    /refuses the login/,
    () => ran('', { connectionString: changed((url) => (url.username = 'no_such_role')) }),
  ],
  [
    'a database that does not exist',
    'databaseGone',
    /refuses the login/,
    () => ran('', { connectionString: changed((url) => (url.pathname = '/no_such_database')) }),
  ],
  [
    'a session that was ended',
    'databaseGone',
    /connection to the database was lost/,
    () => ran('SELECT pg_terminate_backend(pg_backend_pid())'),
  ],
  [
    'a statement that took too long',
    'slow',
    /did not answer in time/,
    () => ran('SET statement_timeout = 20; SELECT pg_sleep(9)'),
  ],
  [
    'an answer that did not come',
    'slow',
    /did not answer in time/,
    () => ran('SELECT pg_sleep(0.2)', { query_timeout: 20 }),
  ],
  [
    'a statement that was cancelled',
    'busy',
    /cancelled on the server/,
    () => ran('SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(9)'),
  ],
  ['a lock that is held', 'busy', /holds a lock/, lockThatIsHeld],
  ['a pool without room', 'busy', /connections of the pool are in use/, poolWithoutRoom],
];

const WORDS = CAUSES.map(([, , words]) => words);

it.each(CAUSES)('%s is told as %s', async (_cause, problem, words, fail) => {
  const error = await fail();
  const reported: unknown[] = [];
  const refusal = asRefusal(error, (each) => reported.push(each));
  expect(refusal.body).toEqual({ problem, message: expect.stringMatching(new RegExp(words, 'i')) });
  expect(reported).toEqual([]);
  const texts = [refusal.message, databaseGone(error).text, toFailure(error, 'delay_queue').text];
  const others = WORDS.filter((other) => String(other) !== String(words));
  for (const text of texts) expect(others.filter((other) => other.test(text))).toEqual([]);
  expect(refusal.message).not.toContain('ilter');
  const narrowed = await filtered({ name: 'x' }, Promise.reject(error)).catch(
    (each: unknown) => each,
  );
  expect(asRefusal(narrowed, () => {}).message.includes('Narrow the filter')).toBe(
    problem === 'slow',
  );
  const all = await filtered({}, Promise.reject(error)).catch((each: unknown) => each);
  expect(all).toBe(error);
});

it('a mistake of ours is reported, and is no trouble of the database', async () => {
  const error = await ran('SELECT 1/0');
  const reported: unknown[] = [];
  expect(asRefusal(error, (each) => reported.push(each)).problem).toBe('failed');
  expect(reported).toEqual([error]);
  expect(databaseGone(error).text).toMatch(/^the database refuses the statement: /);
  expect(asRefusal(new TypeError('timeout of undefined'), () => {}).problem).toBe('failed');
});
