import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { SelectionStore } from '../../src/delay-queue/store/selection.store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, signal, startNode } from '../support/delay-node.js';
import { explain } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { FUTURE, fillDelays } from '../support/full-tables.js';
import { until } from '../support/until.js';

/** `DelayAdmin`: what there is, who runs it, and what happened around one business key. */
let database: TestDatabase;
const nodes: DelayNode[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  await database.drop();
});

async function start(...given: Omit<Parameters<typeof startNode>[0], 'url'>[]): Promise<DelayNode> {
  for (const setup of given) nodes.push(await startNode({ url: database.url, ...setup }));
  return nodes[0] as DelayNode;
}

describe('stats', () => {
  it('tells of each name how much there is, and of each node what it serves and runs', async () => {
    const release = signal();
    const handler = () =>
      plainHandler('test.held', () => release.promise, { concurrency: 1, maxAttempts: 1 });
    const fails = plainHandler('test.fails', () => Promise.reject(new Error('no')), {
      maxAttempts: 1,
    });
    const idle = plainHandler('test.idle', () => {});
    const node = await start(
      { providers: [handler(), fails], options: { nodeName: 'a' } },
      { providers: [handler(), idle], options: { nodeName: 'b' } },
    );
    await node.delays.schedule('test.fails', null, { after: 0 });
    await node.delays.schedule('test.fails', null, { after: '1h' });
    for (let n = 0; n < 12; n += 1) await node.delays.schedule('test.held', null, { after: 0 });
    await node.delays.schedule('test.nobody', null, { at: new Date(0) });

    const { names, nodes: there } = await until(
      () => node.admin.stats(),
      (stats) =>
        stats.nodes.length === 2 &&
        // Names and nodes are read one after the other: what fails may still run in the one and be dead in the other.
        stats.nodes.every(({ running }) => running === 1) &&
        stats.names.some(({ name, running }) => name === 'test.held' && running === 2) &&
        stats.names.some(({ dead }) => dead === 1),
    );
    release.resolve();
    const none = {
      scheduled: 0,
      running: 0,
      retrying: 0,
      dead: 0,
      overdue: 0,
      oldestOverdueMs: null,
    };
    expect(names).toEqual([
      { ...none, name: 'test.fails', scheduled: 1, dead: 1, nodes: 1 },
      {
        ...none,
        name: 'test.held',
        scheduled: 10,
        running: 2,
        overdue: 10,
        oldestOverdueMs: expect.any(Number),
        nodes: 2,
      },
      { ...none, name: 'test.idle', nodes: 1 },
      {
        ...none,
        name: 'test.nobody',
        scheduled: 1,
        overdue: 1,
        oldestOverdueMs: expect.any(Number),
        nodes: 0,
      },
    ]);
    expect(there.map(({ name, running }) => [name, running])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    expect(there[1]?.names.toSorted()).toEqual(['test.held', 'test.idle']);
    for (const { startedAt, seenAt } of there) expect(+seenAt).toBeGreaterThanOrEqual(+startedAt);
  });
});

describe('story', () => {
  it('tells of a key across names what waits and what ended', async () => {
    const node = await start({ providers: [plainHandler('test.done', () => {})] });
    const { delays } = node;
    const completed = node.next('completed');
    await delays.schedule('test.done', null, { after: 0, key: '42' });
    await completed;
    await delays.schedule('test.b', { text: 'x' }, { after: '1h', key: '42' });
    await delays.cancel('test.b', '42');
    await delays.schedule('test.c', { n: 2 }, { after: '1h', key: '42' });
    await delays.schedule('test.a', { n: 3 }, { after: '1h', key: '42' });
    await delays.schedule('test.a', { n: 4 }, { after: '1h', key: '43' });
    const story = await node.admin.story('42');
    expect(story.delays.map(({ name, payload }) => [name, payload])).toEqual([
      ['test.c', { n: 2 }],
      ['test.a', { n: 3 }],
    ]);
    expect(story.history.map(({ name, state }) => [name, state])).toEqual([
      ['test.b', 'cancelled'],
      ['test.done', 'completed'],
    ]);
    expect(await node.admin.story('44')).toEqual({ delays: [], history: [] });
  });
});

/** Pages that the statements of that call touch. */
async function plansOf(
  connected: Client,
  call: (store: SelectionStore, runner: { query: <Row>() => Promise<Row[]> }) => Promise<unknown>,
): Promise<number> {
  let buffers = 0;
  const runner = {
    query: async <Row>(sql = '', parameters: unknown[] = []): Promise<Row[]> => {
      buffers += (await explain(connected, sql, parameters)).buffers;
      return [];
    },
  };
  await call(new SelectionStore('delay_queue'), runner);
  return buffers;
}

describe('in full tables', () => {
  const file = fileDatabase();

  it.each([
    ['a key of any name', { key: 'key 7000' }],
    ['few keys of any name', { keyPrefix: 'key 7000' }],
    ['a key of a name', { names: ['test.served'], key: 'key 7000' }],
    ['dead letters', { states: ['dead' as const] }],
  ])('%s are found without reading all', async (_what, filter) => {
    const client = await filled();
    const plans = await plansOf(client, (store, runner) =>
      store.list(runner, filter, { behindId: 0, limit: 100 }),
    );
    expect(plans).toBeLessThan(FUTURE / 500);
  });

  it('and so is the history of a key', async () => {
    const client = await filled();
    expect(
      await plansOf(client, (store, runner) => store.historyOf(runner, 'key 7', 100)),
    ).toBeLessThan(100);
  });

  it('what each of many nodes runs is counted in one reading of the table', async () => {
    const client = await filled();
    await client.query(`
      INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
      SELECT 'node ' || n, '{}', false, now(), now() + interval '1 hour' FROM generate_series(1, 8) n`);
    const { rows } = await client.query<{ pages: number }>(
      `SELECT (pg_relation_size('delay_queue.delay') / current_setting('block_size')::int)::int AS pages`,
    );
    const plans = await plansOf(client, (store, runner) => store.nodeStats(runner, 30_000));
    expect(plans).toBeLessThan(rows[0]!.pages * 2);
  });

  let client: Promise<Client> | undefined;
  const filled = (): Promise<Client> =>
    (client ??= file.connect().then(async (connected) => {
      await fillDelays(connected);
      return connected;
    }));
});
