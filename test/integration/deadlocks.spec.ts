import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { ScheduleItem } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';
import { type OpenTransaction, OpenTransactions } from '../support/open-transactions.js';

let database: TestDatabase;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeEach(async () => {
  database = await createTestDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  // A second for each deadlock to be noticed would make this a slow test.
  await client.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)}
                      SET deadlock_timeout = '5ms'`);
  await client.end();
  node = await startNode({ url: database.url });
});

afterEach(async () => {
  await transactions.rollbackAll();
  await node.stop();
  await database.drop();
});

const item = (key: string): ScheduleItem => ({
  name: 'test.a',
  payload: { n: 1 },
  after: '1h',
  key,
});

it('callers of scheduleMany and cancel, each on its own, never hear of a deadlock', async () => {
  const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
  const ROUNDS = 60;
  const many = async (caller: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      // Every caller meets every subset of the keys, in an order of its own.
      const subset = ((round + 1) * (2 * caller + 3)) % 64;
      const keys = KEYS.filter((_, bit) => (subset >> bit) % 2 === 1);
      await node.delays.scheduleMany(keys.map(item));
    }
  };
  const cancel = async (caller: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const key = KEYS[(round * (caller + 1)) % KEYS.length] as string;
      await node.delays.cancel('test.a', key);
    }
  };
  await Promise.all([...[0, 1, 2, 3].map(many), ...[0, 4].map(cancel)]);
  const rows: { key: string }[] = await node.dataSource.query('SELECT key FROM delay_queue.delay');
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
});

it('two transactions that take two keys in opposite orders: one of them hears 40P01', async () => {
  const first = await transactions.begin(node.dataSource);
  const second = await transactions.begin(node.dataSource);
  await node.delays.scheduleMany([item('a'), item('b')]);
  await node.delays.cancel('test.a', 'a', { manager: first.manager });
  await node.delays.cancel('test.a', 'b', { manager: second.manager });
  const cross = async ({ manager, rollback }: OpenTransaction, key: string): Promise<void> => {
    try {
      await node.delays.cancel('test.a', key, { manager });
    } catch (error) {
      await rollback();
      throw error;
    }
  };
  const answers = await Promise.allSettled([cross(first, 'b'), cross(second, 'a')]);
  const refused = answers.filter((answer) => answer.status === 'rejected');
  expect(refused).toHaveLength(1);
  expect(refused[0]?.reason).toMatchObject({ code: '40P01' });
});
