import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayConflictError, type ScheduleItem, type ScheduleResult } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import type { DelayNode } from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { OtherNode } from '../support/other-node.js';
import { Stage } from './engine/support/stage.js';

let stage: Stage;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeAll(async () => {
  stage = await Stage.open();
  node = await stage.start({});
});

afterEach(async () => {
  await transactions.rollbackAll();
  await stage.sql('TRUNCATE delay_queue.delay, delay_queue.history');
});

afterAll(() => stage.close());

const item = (n: number, rest: Partial<ScheduleItem<'test.a'>> = {}): ScheduleItem =>
  ({ name: 'test.a', payload: { n }, after: '1h', ...rest }) as ScheduleItem;

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
    const keys = ['running', 'new', 'kept', undefined, 'dead', 'replaced'];
    for (const [index, key] of keys.entries()) {
      if (key === undefined) continue;
      const { id, dueAt } = results[index]!;
      expect(await node.delays.find('test.a', key)).toMatchObject({ id, dueAt });
    }
  });

  it('of no items are none', async () => {
    expect(await node.delays.scheduleMany([])).toEqual([]);
  });
});

describe('all or nothing', () => {
  it.each([
    ['a bad item in the middle', item(3, { payload: { n: NaN } }), 'items[2].payload.n'],
    ['a key that stands twice for one name', item(3, { key: 'k' }), 'items[2].key'],
  ])('%s is refused before anything is written', async (_, bad, field) => {
    const refused = node.delays.scheduleMany([item(1, { key: 'k' }), item(2), bad, item(4)]);
    await expect(refused).rejects.toMatchObject({ code: 'DELAY_INVALID', field });
    expect(await rows()).toEqual([]);
    const other: ScheduleItem = { name: 'test.z', payload: 1, after: '1h', key: 'k' };
    expect(await node.delays.scheduleMany([item(1, { key: 'k' }), other])).toHaveLength(2);
  });

  it('a conflict undoes the items before and after it', async () => {
    await existing('m');
    const items = [item(1, { key: 'a' }), item(2), item(3, { key: 'm', onConflict: 'error' })];
    const conflict = node.delays.scheduleMany([...items, item(4, { key: 'z' })]);
    await expect(conflict).rejects.toBeInstanceOf(DelayConflictError);
    expect(await rows()).toMatchObject([{ key: 'm', payload: { n: 0 }, epoch: 0 }]);
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

it('10,000 items are accepted in full, in order; one more is refused', async () => {
  const items = Array.from({ length: 10_000 }, (_, n) => item(n, n % 3 ? {} : { key: `k${n}` }));
  const results = await node.delays.scheduleMany(items);
  const byId = new Map((await rows()).map(({ id, payload }) => [id, payload]));
  expect(results.map(({ id }) => byId.get(id))).toEqual(items.map(({ payload }) => payload));
  const refused = node.delays.scheduleMany([...items, item(0)]);
  await expect(refused).rejects.toMatchObject({ code: 'DELAY_INVALID', field: 'items' });
});
