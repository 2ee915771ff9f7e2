import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { EntityManager, QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type DelayNode, fencedHandler, startNode } from '../../support/delay-node.js';

/**
 * What the engine prepares on the application's sessions, the application may make the server forget; the client
 * goes on believing that it is there.
 */
let database: TestDatabase;
let node: DelayNode;
/** Each attempt that got as far as its handler. */
let attempts: string[];
const prepared = new Set<string>();
let inHandler: (manager: EntityManager) => Promise<unknown>;

const handler = fencedHandler(
  'test.fenced',
  async ({ key, attempt }, { manager }) => {
    attempts.push(`${key} ${attempt}`);
    const rows = await manager.query<{ name: string }[]>(
      `SELECT name FROM pg_prepared_statements WHERE name LIKE 'delay-queue %'`,
    );
    for (const { name } of rows) prepared.add(name);
    await inHandler(manager);
    await manager.query('INSERT INTO effect VALUES ($1)', [key]);
  },
  { maxAttempts: 2 },
);

beforeEach(async () => {
  attempts = [];
  inHandler = () => Promise.resolve();
  database = await createTestDatabase();
  const options = { backoff: { base: 5, jitter: 0 } };
  node = await startNode({ url: database.url, providers: [handler], poolMax: SESSIONS, options });
  await node.dataSource.query('CREATE TABLE effect (key text PRIMARY KEY)');
});

afterEach(async () => {
  await node.stop();
  await database.drop();
});

async function complete(key: string): Promise<void> {
  const completed = node.next('completed', (event) => event.key === key);
  await node.delays.schedule('test.fenced', null, { after: 0, key });
  await completed;
}

const SESSIONS = 2;

async function hold(): Promise<QueryRunner> {
  const runner = node.dataSource.createQueryRunner();
  await runner.connect();
  return runner;
}

/** Until each session of the pool has run a call, and knows what was prepared for it. */
async function prepareEverywhere(): Promise<void> {
  const held = [await hold(), await hold()];
  for (let session = 0; session < SESSIONS; session += 1) {
    await held.shift()?.release();
    prepared.clear();
    for (let call = 0; prepared.size === 0; call += 1) await complete(`${session} ${call}`);
    held.push(await hold());
  }
  await Promise.all(held.map((runner) => runner.release()));
  attempts.length = 0;
}

const onEverySession = (sql: string): Promise<unknown> =>
  Promise.all(Array.from({ length: SESSIONS }, () => node.dataSource.query(sql)));

const forget = (manager: EntityManager): Promise<unknown> => manager.query('DEALLOCATE ALL');

it('between calls: nothing is lost, not even an attempt', async () => {
  await prepareEverywhere();
  await onEverySession('DISCARD ALL');
  await complete('a');
  await complete('b');
  expect(attempts).toEqual(['a 1', 'b 1']);
});

it('within a call: that attempt fails, and the next one works', async () => {
  await prepareEverywhere();
  inHandler = forget;
  await complete('a');
  await complete('b');
  expect(attempts).toEqual(['a 1', 'a 2', 'b 1']);
  const effects = await node.dataSource.query<unknown[]>(
    `SELECT key FROM effect WHERE key IN ('a', 'b') ORDER BY key`,
  );
  expect(effects).toEqual([{ key: 'a' }, { key: 'b' }]);
});
