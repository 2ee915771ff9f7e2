import { expect, it } from '@jest/globals';
import { DelayConflictError, type ScheduleItem } from 'nestjs-delay-queue';
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

const rows = (): Promise<Row[]> =>
  node.sql(
    'SELECT id::text, name, key, payload, due_at, epoch::int FROM delay_queue.delay ORDER BY id',
  );

it('10,000 items are accepted in full, in order, keyed and keyless ones of several names mixed', async () => {
  const items = Array.from({ length: 10_000 }, (_, n): ScheduleItem => {
    const name = `test.${['c', 'a', 'b'][n % 3]}` as 'test.a';
    const key = n % 2 === 0 ? `key ${(n * 7919) % 10_000}` : undefined;
    return { name, payload: { n }, after: `${(n % 5) + 1}h`, key };
  });
  const taken = items.filter(({ key }) => key !== undefined).slice(0, 40);
  await node.delays.scheduleMany(
    taken.map((one) => ({ ...one, payload: { n: -1 } }) as ScheduleItem),
  );
  const results = await node.delays.scheduleMany(items);
  // Each result names the row that holds the payload of its item.
  const byId = new Map((await rows()).map((row) => [row.id, row]));
  const told = results.map(({ id, dueAt }) => {
    const { name, payload, key, due_at: dueIs } = byId.get(id)!;
    return { name, payload, key: key ?? undefined, isDue: dueIs.getTime() === dueAt.getTime() };
  });
  const given = items.map(({ name, payload, key }) => ({ name, payload, key, isDue: true }));
  expect(told).toEqual(given);
  const replaced = items.filter((_, index) => results[index]?.verdict === 'replaced');
  expect(replaced).toEqual(taken);
});

it('the results tell of each item what became of it; of no items there are none', async () => {
  const other = new OtherNode(node.dataSource);
  for (const key of ['replaced', 'kept', 'running', 'dead']) {
    const { id } = await node.delays.schedule('test.a', { n: 0 }, { after: 0, key });
    if (key === 'running') await other.claim(id);
    if (key === 'dead') await other.claimAndFail(id, null);
  }
  const cases: [verdict: string, ScheduleItem][] = [
    ['running', item(1, { key: 'running' })],
    ['scheduled', item(2, { key: 'new' })],
    ['kept', item(3, { key: 'kept', onConflict: 'keep' })],
    ['scheduled', item(4)],
    ['scheduled', item(5, { key: 'dead', onConflict: 'error' })],
    ['replaced', item(6, { key: 'replaced' })],
    // A key belongs to its name.
    ['scheduled', { name: 'test.z', payload: 1, after: '1h', key: 'new' }],
  ];
  const results = await node.delays.scheduleMany(cases.map(([, one]) => one));
  expect(results.map(({ verdict }) => verdict)).toEqual(cases.map(([verdict]) => verdict));
  for (const [index, [, { name, key }]] of cases.entries()) {
    if (key === undefined) continue;
    const { id, dueAt } = results[index]!;
    expect(await node.delays.find(name, key)).toMatchObject({ id, dueAt });
  }
  expect(await node.delays.scheduleMany([])).toEqual([]);
});

it('a conflict undoes the items before and after it', async () => {
  await node.delays.schedule('test.a', { n: 0 }, { after: '1h', key: 'm' });
  const items = [item(1, { key: 'a' }), item(2), item(3, { key: 'm', onConflict: 'error' })];
  const conflict = node.delays.scheduleMany([...items, item(4, { key: 'z' })]);
  await expect(conflict).rejects.toBeInstanceOf(DelayConflictError);
  expect(await rows()).toMatchObject([{ key: 'm', payload: { n: 0 }, epoch: 0 }]);
});
