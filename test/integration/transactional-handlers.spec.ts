import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, startNode } from '../support/delay-node.js';

let database: TestDatabase;
let node: DelayNode;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await node?.stop();
  await database.drop();
});

/** Runs `work` in the only attempt of a transactional delay; answers the error it ended with. */
async function fail(work: (manager: EntityManager) => Promise<void>): Promise<string | null> {
  const handler = fencedHandler('test.fenced', (_delay, { manager }) => work(manager), {
    maxAttempts: 1,
  });
  node = await startNode({ url: database.url, providers: [handler] });
  await node.dataSource.query('CREATE TABLE effect (n int PRIMARY KEY)');
  const dead = node.next('dead');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  await dead;
  expect(await node.dataSource.query('SELECT n FROM effect')).toEqual([]);
  return (await node.delays.find('test.fenced', 'k'))?.lastError ?? null;
}

it('a handler that throws after writing leaves nothing of what it wrote', async () => {
  const error = await fail(async (manager) => {
    await manager.query('INSERT INTO effect VALUES (1)');
    await node.delays.schedule('test.a', { n: 1 }, { after: 0, key: 'follow-up', manager });
    await node.delays.scheduleMany([{ name: 'test.z', payload: 1, after: 0 }], { manager });
    throw new Error('after the writes');
  });
  expect(error).toBe('Error: after the writes');
  expect(await node.delays.find('test.a', 'follow-up')).toBeNull();
  const rows: unknown[] = await node.dataSource.query('SELECT name FROM delay_queue.delay');
  expect(rows).toEqual([{ name: 'test.fenced' }]);
});

it('a handler that swallows an SQL error has failed, and commits nothing', async () => {
  const error = await fail(async (manager) => {
    await manager.query('INSERT INTO effect VALUES (1)');
    await manager.query('INSERT INTO effect VALUES (1)').catch(() => {});
  });
  expect(error).toMatch(/current transaction is aborted/);
});

it('a handler that swallows an SQL error of a savepoint goes on and commits', async () => {
  const handler = fencedHandler('test.fenced', async (_delay, { manager }) => {
    await manager.query('INSERT INTO effect VALUES (1)');
    await manager
      .transaction((inner) => inner.query('INSERT INTO effect VALUES (1)'))
      .catch(() => {});
  });
  node = await startNode({ url: database.url, providers: [handler] });
  await node.dataSource.query('CREATE TABLE effect (n int PRIMARY KEY)');
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  await completed;
  expect(await node.dataSource.query('SELECT n FROM effect')).toEqual([{ n: 1 }]);
});

it('a constraint that is checked at COMMIT fails the attempt, which leaves nothing', async () => {
  const error = await fail(async (manager) => {
    await manager.query(
      `CREATE TABLE child (n int REFERENCES effect (n) DEFERRABLE INITIALLY DEFERRED)`,
    );
    await manager.query('INSERT INTO child VALUES (5)');
  });
  expect(error).toMatch(/violates foreign key constraint/);
});

it('what a handler schedules rides on its transaction: it is seen after the commit', async () => {
  const seen: (string | undefined)[] = [];
  const handler = fencedHandler('test.fenced', async (_delay, { manager }) => {
    await node.delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'follow-up', manager });
    const outside: unknown[] = await node.dataSource.query(
      `SELECT 1 FROM delay_queue.delay WHERE key = 'follow-up'`,
    );
    seen.push(outside.length === 0 ? 'not yet outside' : 'outside already');
    seen.push((await node.delays.find('test.a', 'follow-up', { manager }))?.state);
  });
  node = await startNode({ url: database.url, providers: [handler] });
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0 });
  await completed;
  expect(seen).toEqual(['not yet outside', 'scheduled']);
  expect(await node.delays.find('test.a', 'follow-up')).toMatchObject({ payload: { n: 1 } });
});

it('is read committed, also where two find out at once that their sessions begin with another level', async () => {
  const levels: unknown[] = [];
  const handler = fencedHandler('test.fenced', async ({ attempt }, { manager }) => {
    const [row] = await manager.query<[{ level: string }]>(
      `SELECT current_setting('transaction_isolation') AS level`,
    );
    levels.push({ attempt, ...row });
  });
  node = await startNode({ url: database.url, providers: [handler], poolMax: 4 });
  const everySession = [1, 2, 3, 4].map(() =>
    node.dataSource.query(`SET default_transaction_isolation = 'serializable'`),
  );
  await Promise.all(everySession);
  for (const keys of [['first', 'beside it'], ['later']]) {
    const completed = keys.map((key) => node.next('completed', (event) => event.key === key));
    await node.delays.scheduleMany(
      keys.map((key) => ({ name: 'test.fenced', payload: null, after: 50, key })),
    );
    await Promise.all(completed);
  }
  const expected = { attempt: 1, level: 'read committed' };
  expect(levels).toEqual([expected, expected, expected]);
});
