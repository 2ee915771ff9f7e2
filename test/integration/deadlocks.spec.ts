import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ScheduleItem } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { runnerOf } from '../../src/delay-queue/producer/transaction/callers-transaction.js';
import { DelayStore } from '../../src/delay-queue/store/delay.store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';
import { heldCode } from '../support/held-code.js';
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

/** In place of ten seconds. */
const SHORT_MS = 100;

const item = (key: string): ScheduleItem => ({
  name: 'test.a',
  payload: { n: 1 },
  after: '1h',
  key,
});

describe('two transactions that take two keys in opposite orders', () => {
  it('with cancels: neither hangs, and each may still roll back and try again', async () => {
    const store = new DelayStore('delay_queue', true, 'any', SHORT_MS);
    await node.delays.scheduleMany([item('a'), item('b')]);
    const first = await transactions.begin(node.dataSource);
    const second = await transactions.begin(node.dataSource);
    const cancel = ({ manager }: OpenTransaction, key: string) =>
      store.cancel(runnerOf(manager), 'test.a', key);
    await cancel(first, 'a');
    await cancel(second, 'b');
    const answers = await Promise.allSettled([cancel(first, 'b'), cancel(second, 'a')]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'DELAY_UNSTABLE' } });
    }
    // Both transactions are as good as before the call that gave up.
    await first.rollback();
    expect(await cancel(second, 'a')).toMatchObject({ verdict: 'cancelled' });
    await second.commit();
    expect(await node.delays.find('test.a', 'a')).toBeNull();
  });

  it('with scheduleMany, whose look waits in Postgres: one of them hears 40P01', async () => {
    const first = await transactions.begin(node.dataSource);
    const second = await transactions.begin(node.dataSource);
    await node.delays.scheduleMany(['a', 'b', 'c', 'd'].map(item));
    const many = ({ manager }: OpenTransaction, ...keys: string[]) =>
      node.delays.scheduleMany(keys.map(item), { manager });
    await many(first, 'a', 'b');
    await many(second, 'c', 'd');
    const cross = async (transaction: OpenTransaction, ...keys: string[]): Promise<void> => {
      try {
        await many(transaction, ...keys);
      } catch (error) {
        await transaction.rollback();
        throw error;
      }
    };
    const answers = await Promise.allSettled([cross(first, 'c', 'd'), cross(second, 'a', 'b')]);
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(refused[0]?.reason).toMatchObject({ code: '40P01' });
  });
});

describe('a transaction of the same process that holds the row until the call answers', () => {
  it('is no reason to wait for ever: alone, as one of many, and in a transaction', async () => {
    const store = new DelayStore('delay_queue', true, 'any');
    await node.delays.scheduleMany(['a', 'b', 'c', 'd'].map(item));
    await node.dataSource.query(
      `UPDATE delay_queue.delay SET wake_at = 'infinity' WHERE key = 'd'`,
    );
    const holder = await transactions.begin(node.dataSource);
    const { manager } = await transactions.begin(node.dataSource);
    for (const key of ['a', 'b', 'c', 'd']) {
      await node.delays.cancel('test.a', key, { manager: holder.manager });
    }
    await node.delays.scheduleMany([item('new')], { manager: holder.manager });
    const calls = await Promise.allSettled([
      node.delays.cancel('test.a', 'a'),
      node.delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'new' }),
      node.delays.scheduleMany([item('0'), item('b')]),
      node.delays.retryDead('test.a', 'd'),
      node.delays.reschedule('test.a', 'c', { after: '1h' }, { manager }),
      store.cancel(runnerOf(manager), 'test.a', 'a'),
    ]);
    const alone = await heldCode(node.dataSource);
    const codes = [alone, alone, alone, alone, 'DELAY_UNSTABLE', 'DELAY_UNSTABLE'];
    expect(calls).toMatchObject(codes.map((code) => ({ status: 'rejected', reason: { code } })));
    await holder.rollback();
    // And nothing of them is there.
    const rows: { key: string }[] = await node.dataSource.query(
      'SELECT key FROM delay_queue.delay',
    );
    expect(rows.map(({ key }) => key).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  }, 60_000);
});
