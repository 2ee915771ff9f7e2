import { describe, expect, it } from '@jest/globals';
import { DelayConflictError, type ScheduleItem, type ScheduleResult } from 'nestjs-delay-queue';
import { OneNode } from '../support/one-node.js';
import { OtherNode } from '../support/other-node.js';

const node = new OneNode();

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
    await node.delays.schedule('test.a', { n: 0 }, { after: '1h', key: 'm' });
    const items = [item(1, { key: 'a' }), item(2), item(3, { key: 'm', onConflict: 'error' })];
    const conflict = node.delays.scheduleMany([...items, item(4, { key: 'z' })]);
    await expect(conflict).rejects.toBeInstanceOf(DelayConflictError);
    expect(await rows()).toMatchObject([{ key: 'm', payload: { n: 0 }, epoch: 0 }]);
  });
});

it('10,000 items are accepted in full, in order', async () => {
  const items = Array.from({ length: 10_000 }, (_, n) => item(n, n % 3 ? {} : { key: `k${n}` }));
  const results = await node.delays.scheduleMany(items);
  const byId = new Map((await rows()).map(({ id, payload }) => [id, payload]));
  expect(results.map(({ id }) => byId.get(id))).toEqual(items.map(({ payload }) => payload));
});
