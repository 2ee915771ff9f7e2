import { beforeEach, describe, expect, it } from '@jest/globals';
import type { EraseCounts, EraseFilter } from 'nestjs-delay-queue';
import { OneNode } from '../support/one-node.js';
import { OtherNode } from '../support/other-node.js';

/**
 * `DelayAdmin.erase`: of a customer nothing is left in any column of any table, and of a neighbour
 * whose name only begins the same everything is.
 */
const node = new OneNode({ options: { worker: false, history: { attempts: true } } });

const TABLES = 'delay history rerun pause quota permit abort operation operation_change'.split(' ');

beforeEach(() => node.sql(`TRUNCATE ${TABLES.map((table) => `delay_queue.${table}`).join()}`));

/** How a customer is told apart, and what an operation about them says. */
interface Way {
  options: (who: string) => { key?: string; group?: string; headers?: Record<string, string> };
  filter: (who: string) => EraseFilter;
  asked: (who: string) => object;
  text: (who: string) => string;
}

const WAYS: Record<string, Way> = {
  key: {
    options: (who) => ({ key: who }),
    filter: (key) => ({ key }),
    asked: (key) => ({ which: { filter: { key } } }),
    text: (who) => `as ${who} asked`,
  },
  keyPrefix: {
    options: (who) => ({ key: `${who}/"1\\2"` }),
    filter: (who) => ({ keyPrefix: `${who}/` }),
    asked: (who) => ({ name: 'test.waits', key: `${who}/"1\\2"` }),
    text: (who) => `(${who}/"1\\2")`,
  },
  group: {
    options: (who) => ({ key: `order of ${who}`, group: who }),
    filter: (group) => ({ group }),
    asked: (group) => ({ name: 'test.waits', group }),
    text: (who) => `${who}: moves out`,
  },
  headers: {
    options: (who) => ({ key: `order of ${who}`, headers: { customer: who, lang: 'de' } }),
    filter: (customer) => ({ headers: { customer } }),
    asked: (who) => ({ which: { filter: { header: `customer:${who}` } } }),
    text: (who) => `of customer:${who}`,
  },
};

/** Something of a customer at each place where the library keeps anything. */
async function plant(way: Way, who: string): Promise<void> {
  const { delays } = node;
  const other = new OtherNode(node.dataSource.manager, 'other', { kept: 'attempts' });
  const options = way.options(who);
  const schedule = (name: string, more: object) =>
    delays.schedule(`test.${name}`, { of: who }, { ...options, ...more } as never);
  await schedule('waits', { after: '1h' });
  await schedule('recurs', { repeat: { every: '1d' } });
  const dead = await schedule('dead', { after: 0 });
  await other.claimAndFail(dead.id, null, `Error: no answer for ${who}`);
  const ended = await schedule('ends', { after: 0 });
  const { epoch } = await other.claim(ended.id);
  if (options.key !== undefined) await schedule('ends', { after: 0, running: 'rerun' });
  await other.store.complete([{ id: Number(ended.id), epoch, latenessMs: 0 }]);
  await schedule('cancelled', { after: '1h' });
  await delays.cancel('test.cancelled', options.key as string, { by: 'shop' });
  const ids = await node.sql<{ id: string }>('SELECT max(id) + 1 AS id FROM delay_queue.operation');
  const id = Number(ids[0]?.id ?? 1);
  await node.sql(
    `INSERT INTO delay_queue.operation (id, started_at, seen_at, action, who, node, why, asked, counts, error)
     VALUES ($1, now(), now(), 'cancel', 'ops', 'n', $2, $3, '{"cancelled": 1}', $2),
            ($1 + 1, now(), now(), 'retry', 'ops', 'n', 'the provider is back', '{"name": "test.dead"}', '{}', NULL)`,
    [id, way.text(who), JSON.stringify(way.asked(who))],
  );
  await node.sql(
    `INSERT INTO delay_queue.operation_change (operation_id, delay_id, ord, name, key, verdict)
     SELECT $1 + n, n, 1, name, $2, 'retried'
     FROM unnest('{test.waits,test.cancelled}'::text[]) WITH ORDINALITY AS of (name, n)`,
    [id - 1, options.key],
  );
  if (options.group === undefined) return;
  await node.admin.pause('test.waits', { group: who, reason: `${who} does not pay` });
  await node.sql(
    `INSERT INTO delay_queue.quota (filled_at, tokens, name, group_id) VALUES (now(), 1, 'test.waits', $1)`,
    [who],
  );
  await node.sql(
    `INSERT INTO delay_queue.permit (id, epoch, name, group_id) VALUES (1, 1, 'test.waits', $1)`,
    [who],
  );
}

/** Every row of every table. */
async function allRows(): Promise<string[]> {
  const rows = await Promise.all(
    TABLES.map((table) =>
      node.sql<{ row: string }>(
        `SELECT '${table} ' || to_jsonb(t)::text AS row FROM delay_queue.${table} t`,
      ),
    ),
  );
  return rows.flatMap((some) => some.map(({ row }) => row)).toSorted();
}

const WHO = 'customer-7';
const NEIGHBOUR = 'customer-70';
const isOf = (row: string): boolean => /customer-7(?!0)/.test(row);

describe.each(Object.entries(WAYS))('by %s', (_, way) => {
  it('nothing of a customer is left, and everything of a neighbour; a dry run counts the same', async () => {
    await plant(way, NEIGHBOUR);
    const before = await allRows();
    await plant(way, WHO);
    const planted = await allRows();
    const dry = await node.admin.erase(way.filter(WHO), { dryRun: true });
    expect(await allRows()).toEqual(planted);
    const told: EraseCounts[] = [];
    const counts = await node.admin.erase(way.filter(WHO), {
      by: 'dpo',
      onProgress: (sofar) => void told.push(sofar),
    });
    expect(counts).toEqual(dry);
    expect(told.at(-1)).toEqual(counts);
    const pauses = way === WAYS['group'] ? 1 : 0;
    expect(counts).toEqual({ erased: 4, running: 0, history: 2, pauses, operations: 1 });
    const left = await allRows();
    expect(left.filter(isOf)).toEqual([]);
    expect(left).toEqual(expect.arrayContaining(before));
    // Who did what, when and to how many.
    const operations = left.filter((row) => row.startsWith('operation ') && !before.includes(row));
    expect(operations).toEqual([
      expect.stringContaining('"asked": {"erased": true}'),
      expect.stringContaining('the provider is back'),
    ]);
    const nothing = { erased: 0, running: 0, history: 0, pauses: 0, operations: 0 };
    expect(await node.admin.erase(way.filter(WHO))).toEqual(nothing);
  });
});

it('what runs is left, and is told; its end writes history, which the next call erases', async () => {
  const other = new OtherNode(node.dataSource.manager);
  const key = WHO;
  const { id } = await node.delays.schedule('test.runs', 1, { after: 0, key });
  const { epoch } = await other.claim(id);
  await node.delays.schedule('test.runs', 2, { after: 0, key, running: 'rerun' });
  expect(await node.admin.erase({ key })).toMatchObject({ erased: 1, running: 1, history: 0 });
  expect(await other.store.complete([{ id: Number(id), epoch, latenessMs: 0 }])).toHaveLength(1);
  expect(await node.admin.erase({ key })).toMatchObject({ erased: 0, running: 0, history: 1 });
  expect((await allRows()).filter(isOf)).toEqual([]);
});

it('in a caller’s transaction, all of it is undone with that', async () => {
  const way = WAYS['group'] as Way;
  await plant(way, WHO);
  const planted = await allRows();
  const { manager, rollback } = await node.begin();
  const counts = await node.admin.erase({ group: WHO }, { manager });
  expect(counts).toMatchObject({ erased: 4, history: 2 });
  const again = await node.admin.erase({ group: WHO }, { manager, dryRun: true });
  expect(again).toMatchObject({ erased: 0, history: 0 });
  await rollback();
  expect(await allRows()).toEqual(planted);
});

it('a viewer’s limits may leave the texts of operations', async () => {
  await plant(WAYS['key'] as Way, WHO);
  const counts = await node.admin.erase({ key: WHO }, { operations: false });
  expect(counts).toMatchObject({ erased: 4, operations: 0 });
  expect((await allRows()).filter(isOf)).toHaveLength(1);
});

const fill = () =>
  node.sql(
    `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, group_id, headers)
     SELECT n, timestamptz '2026-01-01' + n * interval '1 millisecond', now(), now(), 1, 1, 'completed', 'test.a',
            'k' || n, CASE WHEN n % 10 = 0 THEN 'g' END, CASE WHEN n % 10 = 0 THEN '{"of": "g"}'::jsonb END
     FROM generate_series(1, 45000) n`,
  );

describe('of many', () => {
  it.each([{ group: 'g' }, { headers: { of: 'g' } }])(
    '%j goes page by page, and ends when it is told to',
    async (filter) => {
      await fill();
      const stop = new AbortController();
      const told: number[] = [];
      const erasing = node.admin.erase(filter, {
        signal: stop.signal,
        onProgress: ({ history }) => {
          told.push(history);
          if (told.length === 2) stop.abort();
        },
      });
      await expect(erasing).rejects.toThrow('aborted');
      const left = await node.admin.erase(filter);
      expect(told.at(-1)! + left.history).toBe(4_500);
      expect(Math.max(...told)).toBeLessThan(4_500);
      expect(await node.admin.count({ state: 'completed' })).toBe(40_500);
    },
  );
});

it.each([
  [{}, 'filter'],
  [null, 'filter'],
  [{ name: 'order.close' }, 'filter'],
  [{ keyPrefix: '' }, 'filter.keyPrefix'],
  [{ headers: {} }, 'filter.headers'],
  [{ group: [] }, 'filter.group'],
  [{ key: 7 }, 'filter.key'],
  [{ key: 'k', state: 'dead' }, 'filter.state'],
  [{ key: 'k', dueBefore: new Date() }, 'filter.dueBefore'],
  [{ key: 'k' }, 'dryRun', { dryRun: 'yes' }],
  [{ key: 'k' }, 'options.running', { running: 'abort' }],
] as [EraseFilter, string, object?][])('refuses %j: %s', async (filter, field, options = {}) => {
  await node.delays.schedule('test.x', 1, { after: '1h', key: 'k' });
  await expect(node.admin.erase(filter, options)).rejects.toMatchObject({ field });
  expect(await node.admin.count({})).toBe(1);
});
