import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  appModule,
  type DelayNode,
  fencedHandler,
  plainHandler,
  startNode,
} from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';

let database: TestDatabase;
let owner: Client;
let role: string;
let node: DelayNode | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
  owner = new Client({ connectionString: database.url });
  await owner.connect();
  role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  await owner.query(`
    CREATE ROLE ${role} LOGIN PASSWORD '${role}';
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    GRANT USAGE ON SCHEMA delay_queue TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delay_queue TO ${role}`);
});

afterEach(async () => {
  await node?.stop();
  node = undefined;
  await owner.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await owner.end();
  await database.drop();
});

const urlOfRole = (): string => {
  const url = new URL(database.url);
  url.username = role;
  url.password = role;
  return url.href;
};

it('rights to read and write the rows are all that a node needs, from start to stop', async () => {
  const troubles: unknown[] = [];
  let fails = 0;
  node = await startNode({
    url: urlOfRole(),
    providers: [
      plainHandler('test.plain', () => {}),
      plainHandler(
        'test.fails',
        () => {
          fails += 1;
          throw new Error('no');
        },
        { maxAttempts: 2, backoff: () => 1 },
      ),
      fencedHandler('test.fenced', async (_delay, { manager }) => {
        await manager.query('SELECT count(*) FROM delay_queue.history');
      }),
      fencedHandler(
        'test.hangs',
        (_delay, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('told to stop')));
          }),
        { timeout: 50, maxAttempts: 1 },
      ),
      plainHandler('test.again', async ({ payload }) => {
        if (payload === 1) await node?.delays.schedule('test.again', 2, { after: 50, key: 'k' });
      }),
    ],
  });
  const { delays } = node;
  node.events.on('trouble', (trouble) => troubles.push(trouble));
  const ends = [
    node.next('completed', ({ name }) => name === 'test.plain'),
    node.next('completed', ({ name }) => name === 'test.fenced'),
    node.next('completed', ({ name }) => name === 'test.again'),
    node.next('superseded'),
    node.next('dead', ({ name }) => name === 'test.fails'),
    node.next('dead', ({ name }) => name === 'test.hangs'),
  ];
  await delays.scheduleMany([
    { name: 'test.plain', payload: 1, after: 0 },
    { name: 'test.fenced', payload: 1, after: 0 },
    { name: 'test.fails', payload: 1, after: 0, key: 'k' },
    { name: 'test.hangs', payload: 1, after: 0, key: 'k' },
    { name: 'test.again', payload: 1, after: 0, key: 'k' },
  ]);
  await Promise.all(ends);
  expect(fails).toBe(2);

  const key = 'verbs';
  await delays.schedule('test.z', 1, { after: '1h', key });
  await delays.schedule('test.z', 2, { after: '1h', key });
  await delays.reschedule('test.z', key, { extendBy: '1h' });
  await delays.cancel('test.z', key);
  expect(await delays.history('test.z', key)).toMatchObject([{ state: 'cancelled' }]);
  expect(await delays.cancel('test.fails', 'k')).toMatchObject({ verdict: 'cancelled' });

  const { store } = new OtherNode(node.dataSource);
  expect(await store.prune(0, 100)).toBeGreaterThan(0);
  const dead = node.next('dead');
  await delays.retryDead('test.hangs', 'k');
  await dead;

  await node.stop();
  node = undefined;
  expect(troubles).toEqual([]);
  const { rows } = await owner.query('SELECT id FROM delay_queue.node');
  expect(rows).toEqual([]);
});

it('a role without rights is told at start what is missing', async () => {
  await owner.query(`REVOKE ALL ON ALL TABLES IN SCHEMA delay_queue FROM ${role}`);
  const handler = plainHandler('test.plain', () => {});
  const setup = { url: urlOfRole(), providers: [handler] };
  const app = await Test.createTestingModule({ imports: [appModule(setup)] }).compile();
  app.useLogger(false);
  await expect(app.init()).rejects.toThrow(/permission denied for (table|schema)/);
  await app.close();
});
