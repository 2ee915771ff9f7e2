import { describe, expect, it } from '@jest/globals';
import type { ScheduleItem } from 'nestjs-delay-queue';
import { heldCode } from '../support/held-code.js';
import { OneNode } from '../support/one-node.js';
import type { OpenTransaction } from '../support/open-transactions.js';
import { Stage } from './engine/support/stage.js';
import { asRunner, DelayStore } from '../support/engine-parts.js';

const node = new OneNode();

/** In place of ten seconds. */
const SHORT_MS = 100;

const item = (key: string): ScheduleItem => ({
  name: 'test.a',
  payload: { n: 1 },
  after: '1h',
  key,
});

it('callers of scheduleMany and cancel, each on its own, never hear of a deadlock', async () => {
  const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
  const ROUNDS = 15;
  const stage = await Stage.open();
  // A second for each deadlock to be noticed would make this a slow test.
  await stage.set({ deadlock_timeout: '5ms' });
  const { delays } = await stage.start({});
  const many = async (caller: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      // Every caller meets every subset of the keys, in an order of its own.
      const subset = ((round + 1) * (2 * caller + 3)) % 64;
      const keys = KEYS.filter((_, bit) => (subset >> bit) % 2 === 1);
      const items = keys.map(item);
      await delays.scheduleMany(caller % 2 === 0 ? items : items.toReversed());
    }
  };
  const cancel = async (caller: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await delays.cancel('test.a', KEYS[(round * (caller + 1)) % KEYS.length]!);
    }
  };
  await Promise.all([...[0, 1, 2, 3].map(many), ...[0, 4].map(cancel)]);
  const rows = await stage.sql<{ key: string }>('SELECT key FROM delay_queue.delay');
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
  await stage.close();
});

it.each([
  ['that nobody has', []],
  ['that are taken', ['a', 'b', 'm']],
])(
  'two lists of keys %s, in opposite orders and both half way, wait for one another',
  async (_, taken) => {
    await node.delays.scheduleMany(taken.map(item));
    const holder = await node.begin();
    await node.delays.scheduleMany([item('m')], { manager: holder.manager });
    const many = (...keys: string[]): Promise<unknown> =>
      node.dataSource.transaction((manager) =>
        node.delays.scheduleMany(keys.map(item), { manager }),
      );
    // Written as they come, each would have its first key, and both wait for the middle one.
    const calls = Promise.allSettled([many('a', 'm', 'b'), many('b', 'm', 'a')]);
    await node.until(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      ({ length }) => length === 2,
    );
    await holder.rollback();
    expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  },
);

describe('two transactions that take two keys in opposite orders', () => {
  it('with cancels: neither hangs, and each may still roll back and try again', async () => {
    const store = new DelayStore('delay_queue', 'ends', 'any', SHORT_MS);
    await node.delays.scheduleMany([item('a'), item('b')]);
    const first = await node.begin();
    const second = await node.begin();
    const cancel = ({ manager }: OpenTransaction, key: string) =>
      store.cancel(asRunner(manager), { name: 'test.a', key });
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
    const first = await node.begin();
    const second = await node.begin();
    await node.delays.scheduleMany(['a', 'b', 'c', 'd'].map(item));
    const many = ({ manager }: OpenTransaction, ...keys: string[]) =>
      node.delays.scheduleMany(keys.map(item), { manager });
    await many(first, 'a', 'b');
    await many(second, 'c', 'd');
    // Whoever is refused lets the other one go on.
    const cross = (transaction: OpenTransaction, ...keys: string[]) =>
      many(transaction, ...keys).catch(async (error: unknown) => {
        await transaction.rollback();
        throw error;
      });
    const answers = await Promise.allSettled([cross(first, 'c', 'd'), cross(second, 'a', 'b')]);
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(refused[0]?.reason).toMatchObject({ code: '40P01' });
  });
});

describe('a transaction of the same process that holds the row until the call answers', () => {
  it('is no reason to wait for ever: alone, as one of many, and in a transaction', async () => {
    const store = new DelayStore('delay_queue', 'ends', 'any');
    await node.delays.scheduleMany(['a', 'b', 'c', 'd'].map(item));
    await node.dataSource.query(
      `UPDATE delay_queue.delay SET wake_at = 'infinity' WHERE key = 'd'`,
    );
    const holder = await node.begin();
    const { manager } = await node.begin();
    for (const key of ['a', 'b', 'c', 'd']) {
      await node.delays.cancel('test.a', key, { manager: holder.manager });
    }
    await node.delays.scheduleMany([item('new'), item('newer')], { manager: holder.manager });
    const calls = await Promise.allSettled([
      node.delays.cancel('test.a', 'a'),
      node.delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'new' }),
      node.delays.scheduleMany([item('0'), item('b')]),
      node.delays.scheduleMany([item('1'), item('newer')]),
      node.delays.retryDead('test.a', 'd'),
      node.delays.reschedule('test.a', 'c', { after: '1h' }, { manager }),
      store.cancel(asRunner(manager), { name: 'test.a', key: 'a' }),
    ]);
    const alone = await heldCode(node.dataSource);
    const codes = [alone, alone, alone, alone, alone, 'DELAY_UNSTABLE', 'DELAY_UNSTABLE'];
    expect(calls).toMatchObject(codes.map((code) => ({ status: 'rejected', reason: { code } })));
    await holder.rollback();
    // And nothing of them is there.
    const rows = await node.sql<{ key: string }>('SELECT key FROM delay_queue.delay');
    expect(rows.map(({ key }) => key).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });
});
