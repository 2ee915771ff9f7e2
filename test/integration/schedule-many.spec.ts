import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  DelayConflictError,
  DelayInvalidError,
  type ScheduleItem,
  type ScheduleResult,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, startNode } from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { OtherNode } from '../support/other-node.js';

let database: TestDatabase;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeAll(async () => {
  database = await createTestDatabase();
  node = await startNode({ url: database.url });
});

afterEach(async () => {
  await transactions.rollbackAll();
  await node.dataSource.query('TRUNCATE delay_queue.delay, delay_queue.history');
});

afterAll(async () => {
  await node.stop();
  await database.drop();
});

const item = (n: number, rest: Partial<ScheduleItem<'test.a'>> = {}): ScheduleItem =>
  ({ name: 'test.a', payload: { n }, after: '1h', ...rest }) as ScheduleItem;

const many = (length: number) => Array.from({ length }, (_, n) => item(n));

interface Row {
  id: string;
  name: string;
  key: string | null;
  payload: unknown;
  due_at: Date;
  epoch: number;
}

const rows = async (): Promise<Row[]> =>
  node.dataSource.query(
    'SELECT id::text, name, key, payload, due_at, epoch::int FROM delay_queue.delay ORDER BY id',
  );

const existing = (key: string, manager?: EntityManager) =>
  node.delays.schedule('test.a', { n: 0 }, { after: '1h', key, manager });

/** Each result names the row that holds the payload of its item. */
async function expectMatched(
  items: readonly ScheduleItem[],
  results: readonly ScheduleResult[],
): Promise<void> {
  const byId = new Map((await rows()).map((row) => [row.id, row]));
  expect(results).toHaveLength(items.length);
  for (const [index, { id, dueAt }] of results.entries()) {
    const { name, payload, key = null } = items[index] as ScheduleItem;
    expect(byId.get(id)).toMatchObject({ name, payload, key, due_at: dueAt });
  }
}

describe('the results', () => {
  it('come in the order of the items, keyed and keyless ones of several names mixed', async () => {
    const items = Array.from({ length: 200 }, (_, n): ScheduleItem => {
      const name = `test.${['c', 'a', 'b'][n % 3]}` as 'test.a';
      const key = n % 2 === 0 ? `key ${(n * 7919) % 200}` : undefined;
      return { name, payload: { n }, after: `${(n % 5) + 1}h`, key };
    });
    const taken = items.filter(({ key }) => key !== undefined).slice(0, 40);
    for (const { name, key } of taken) {
      await node.delays.schedule(name, { n: -1 }, { after: '1h', key });
    }
    const results = await node.delays.scheduleMany(items);
    await expectMatched(items, results);
    const replaced = items.filter((_, index) => results[index]?.verdict === 'replaced');
    expect(replaced).toEqual(taken);
  });

  it('tell of each item what became of it', async () => {
    const other = new OtherNode(node.dataSource);
    for (const key of ['replaced', 'kept', 'running', 'dead']) {
      const { id } = await node.delays.schedule('test.a', { n: 0 }, { after: 0, key });
      if (key === 'running') await other.claim(id);
      if (key === 'dead') await other.claimAndFail(id, null);
    }
    const results = await node.delays.scheduleMany([
      item(1, { key: 'running' }),
      item(2, { key: 'new' }),
      item(3, { key: 'kept', onConflict: 'keep' }),
      item(4),
      item(5, { key: 'dead', onConflict: 'error' }),
      item(6, { key: 'replaced' }),
    ]);
    expect(results.map(({ verdict }) => verdict)).toEqual([
      'running',
      'scheduled',
      'kept',
      'scheduled',
      'scheduled',
      'replaced',
    ]);
    for (const [index, key] of [
      'running',
      'new',
      'kept',
      undefined,
      'dead',
      'replaced',
    ].entries()) {
      if (key === undefined) continue;
      const found = await node.delays.find('test.a', key);
      expect(found).toMatchObject({ id: results[index]?.id, dueAt: results[index]?.dueAt });
    }
  });

  it('of no items are none', async () => {
    expect(await node.delays.scheduleMany([])).toEqual([]);
  });
});

describe('all or nothing', () => {
  it('a bad item in the middle is named, and nothing is written', async () => {
    const items = [item(1, { key: 'a' }), item(2), item(3, { payload: { n: NaN } }), item(4)];
    const error: unknown = await node.delays.scheduleMany(items).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DelayInvalidError);
    expect((error as DelayInvalidError).field).toBe('items[2].payload.n');
    expect(await rows()).toEqual([]);
  });

  it('a key that stands twice for one name is refused before anything is written', async () => {
    const twice = [item(1, { key: 'k' }), item(2), item(3, { key: 'k' })];
    const error: unknown = await node.delays.scheduleMany(twice).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'DELAY_INVALID', field: 'items[2].key' });
    expect(await rows()).toEqual([]);
    const ofTwoNames: ScheduleItem[] = [
      item(1, { key: 'k' }),
      { name: 'test.z', payload: 1, after: '1h', key: 'k' },
    ];
    expect(await node.delays.scheduleMany(ofTwoNames)).toHaveLength(2);
  });

  it('a conflict undoes the items before and after it', async () => {
    await existing('m');
    const items = [item(1, { key: 'a' }), item(2), item(3, { key: 'm', onConflict: 'error' })];
    const conflict = node.delays.scheduleMany([...items, item(4, { key: 'z' })]);
    await expect(conflict).rejects.toBeInstanceOf(DelayConflictError);
    expect(await rows()).toMatchObject([{ key: 'm', payload: { n: 0 }, epoch: 0 }]);
  });

  it('a conflict undoes its own items only when the caller catches it and commits', async () => {
    const { manager, commit } = await transactions.begin(node.dataSource);
    await existing('before', manager);
    const items = [
      item(1, { key: 'before' }),
      item(2, { key: 'new' }),
      item(3, { key: 'taken', onConflict: 'error' }),
    ];
    await existing('taken');
    const error: unknown = await node.delays
      .scheduleMany(items, { manager })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'DELAY_CONFLICT', key: 'taken' });
    await existing('after', manager);
    await commit();
    const left = new Map((await rows()).map(({ key, payload }) => [key, payload]));
    expect(left).toEqual(new Map(['before', 'taken', 'after'].map((key) => [key, { n: 0 }])));
  });

  it('a caller who rolls back takes all of it back, dead letters included', async () => {
    const { id } = await node.delays.schedule('test.a', { n: 0 }, { after: 0, key: 'dead' });
    await new OtherNode(node.dataSource).claimAndFail(id, null);
    const before = await rows();
    const { manager, rollback } = await transactions.begin(node.dataSource);
    await node.delays.scheduleMany([item(1, { key: 'dead' }), item(2)], { manager });
    await rollback();
    expect(await rows()).toEqual(before);
    expect(await node.delays.history('test.a', 'dead')).toEqual([]);
  });
});

describe('two callers with the same keys in opposite orders', () => {
  const KEYS = Array.from({ length: 20 }, (_, n) => `key ${n}`);
  const ROUNDS = 60;

  it.each(['new', 'taken'])('never deadlock over %s keys', async (which) => {
    if (which === 'taken') await node.delays.scheduleMany(KEYS.map((key, n) => item(n, { key })));
    const forwards = KEYS.map((key, n) => item(n, { key }));
    const callers = [forwards, forwards.toReversed(), forwards.slice(5), forwards.toReversed()];
    for (let round = 0; round < ROUNDS; round += 1) {
      if (which === 'new') await node.dataSource.query('TRUNCATE delay_queue.delay');
      const results = await Promise.all(callers.map((items) => node.delays.scheduleMany(items)));
      const verdicts = new Set(results.flat().map(({ verdict }) => verdict));
      expect(verdicts).toEqual(new Set(which === 'new' ? ['scheduled', 'replaced'] : ['replaced']));
    }
    const left = (await rows()).map(({ key }) => key);
    expect(left).toHaveLength(KEYS.length);
    expect(new Set(left)).toEqual(new Set(KEYS));
  });
});

describe('a key that somebody else inserts meanwhile', () => {
  const items = Array.from({ length: 15 }, (_, n) =>
    item(n, n % 3 === 0 ? {} : { key: `key ${n}`, onConflict: n === 10 ? 'keep' : 'error' }),
  );

  it.each(['a transaction of its own', "the caller's transaction"])('in %s', async (where) => {
    const other = await transactions.begin(node.dataSource);
    await existing('key 10', other.manager);
    const own = where.startsWith('the') ? await transactions.begin(node.dataSource) : undefined;
    const scheduled = node.delays.scheduleMany(items, { manager: own?.manager });
    await other.blocksSomebody();
    await other.commit();
    const results = await scheduled;
    await own?.commit();
    expect(results.map(({ verdict }) => verdict)).toEqual(
      items.map(({ key }) => (key === 'key 10' ? 'kept' : 'scheduled')),
    );
    const payloads = items.map(({ payload }, n) => (n === 10 ? { n: 0 } : payload));
    const byId = new Map((await rows()).map(({ id, payload }) => [id, payload]));
    expect(results.map(({ id }) => byId.get(id))).toEqual(payloads);
  });

  it('and that is an error to meet: nothing is written', async () => {
    const other = await transactions.begin(node.dataSource);
    await existing('key 1', other.manager);
    const scheduled = node.delays.scheduleMany(items);
    await other.blocksSomebody();
    await other.commit();
    await expect(scheduled).rejects.toBeInstanceOf(DelayConflictError);
    expect(await rows()).toMatchObject([{ key: 'key 1', payload: { n: 0 }, epoch: 0 }]);
  });
});

describe('the limit of 10,000 items', () => {
  it('is accepted in full, in order', async () => {
    const items = many(10_000).map((one, n) => (n % 3 ? one : { ...one, key: `k${n}` }));
    const results = await node.delays.scheduleMany(items);
    const byId = new Map((await rows()).map(({ id, payload }) => [id, payload]));
    expect(results.map(({ id }) => byId.get(id))).toEqual(items.map(({ payload }) => payload));
  });

  it('is a limit: one more is refused, and nothing is written', async () => {
    const error: unknown = await node.delays
      .scheduleMany(many(10_001))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'DELAY_INVALID', field: 'items' });
    expect(await rows()).toEqual([]);
  });
});
