import { describe, expect, it } from '@jest/globals';
import type { DelayFilter } from 'nestjs-delay-queue';
import { NAMES } from '../../support/acting-node.js';
import { signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { ABORT, aborted, BRIEFLY, giveUp, TwoNodes } from './support/two-nodes.js';

/** `DelayAdmin.cancel` by a filter that also ends what runs. */
const two = new TwoNodes();
const GROUP = 'customer-7';
const NAME = NAMES.plain;

/** Handlers of these keys run; others wait for an hour. */
async function runs(kind: 'plain' | 'transactional', running: string[], waiting: string[]) {
  const item = { name: NAMES[kind], payload: null, group: GROUP };
  await two.asks.delays.scheduleMany(
    waiting.map((key) => ({ ...item, key, after: '1h' as const })),
  );
  await two.asks.delays.scheduleMany(running.map((key) => ({ ...item, key, after: 0 })));
  await two.until(
    'SELECT FROM delay_queue.delay WHERE leased_by IS NOT NULL',
    ({ length }) => length === running.length,
  );
  // A request that is earlier than the call ends the attempt without one.
  await until(
    () => two.calls.flatMap(([keys]) => keys),
    (called) => running.every((key) => called.includes(key)),
  );
}

const left = async (): Promise<string[]> =>
  (await two.asks.admin.list({})).map(({ key, state }) => `${key} ${state}`);

const FILTERS: DelayFilter[] = [
  { group: GROUP },
  { groupPrefix: 'customer', state: ['running', 'scheduled'] },
];

describe.each(FILTERS)('%j', (filter) => {
  it.each(['plain', 'transactional'] as const)('ends what runs: %s', async (kind) => {
    two.does(giveUp);
    await runs(kind, ['a', 'b'], ['c']);
    const told: object[] = [];
    const verdicts: Record<string, string> = {};
    const counts = await two.asks.admin.cancel(filter, {
      ...ABORT,
      onProgress: (some, changed) => {
        told.push(some);
        for (const { key, verdict } of changed) verdicts[`${key}`] = verdict;
      },
    });
    expect(counts).toEqual({ matched: 3, cancelled: 1, aborted: 2, running: 0, absent: 0 });
    expect(told).toEqual([counts]);
    expect(verdicts).toEqual({ a: 'aborted', b: 'aborted', c: 'cancelled' });
    expect(await left()).toEqual([]);
    expect(await two.effects()).toEqual([]);
    const { history } = await two.asks.admin.history({ group: GROUP, state: 'cancelled' });
    expect(new Set(history.map(({ key }) => key))).toEqual(new Set(['a', 'b', 'c']));
  });
});

it('by the state alone: what waits stays', async () => {
  two.does(giveUp);
  await runs('plain', ['a', 'b'], ['c']);
  const counts = await two.asks.admin.cancel({ state: 'running' }, ABORT);
  expect(counts).toEqual({ matched: 2, cancelled: 0, aborted: 2, running: 0, absent: 0 });
  expect(await left()).toEqual(['c scheduled']);
});

it('what does its work all the same is absent, and what does not end is running', async () => {
  const ends = signal();
  two.does(async (ctx, [delay]) => {
    if (delay?.key === 'done') return aborted(ctx);
    if (delay?.key === 'ends') return giveUp(ctx);
    return ends.promise;
  });
  await runs('plain', ['done', 'ends', 'stays'], ['waits']);
  const counts = await two.asks.admin.cancel({ name: NAME }, BRIEFLY);
  expect(counts).toEqual({ matched: 4, cancelled: 1, aborted: 1, running: 1, absent: 1 });
  expect(await left()).toEqual(['stays running']);
  expect(await two.effects()).toEqual(['done']);
  ends.resolve();
  await two.isEmpty();
});

it('is left alone when nothing is said, and when it is not of the filter', async () => {
  const ends = signal();
  two.does(() => ends.promise);
  await runs('plain', ['a'], ['b']);
  const cancel = two.asks.admin.cancel({ group: GROUP });
  expect(await cancel).toEqual({ matched: 2, cancelled: 1, running: 1 });
  const none = { matched: 0, cancelled: 0, aborted: 0, running: 0, absent: 0 };
  expect(await two.asks.admin.cancel({ group: 'customer-8' }, ABORT)).toEqual(none);
  expect(await two.asks.admin.cancel({ group: GROUP, state: 'scheduled' }, ABORT)).toEqual(none);
  expect(await left()).toEqual(['a running']);
  ends.resolve();
  await two.isEmpty();
});

it('what its handler has moved out of the filter meanwhile stays', async () => {
  two.does(async (ctx, [delay]) => {
    await aborted(ctx);
    await two.runs.delays.schedule(NAME, null, { after: '1h', key: delay!.key!, group: 'other' });
  });
  await runs('plain', ['a'], []);
  const counts = await two.asks.admin.cancel({ group: GROUP }, ABORT);
  expect(counts).toEqual({ matched: 1, cancelled: 0, aborted: 0, running: 0, absent: 1 });
  expect(await left()).toEqual(['a scheduled']);
});

it("in a caller's transaction it is over before that commits, and comes back with a rollback", async () => {
  two.does((ctx, _, call) => (call === 1 ? giveUp(ctx) : undefined));
  await runs('transactional', ['a'], ['b']);
  const { dataSource, admin } = two.asks;
  const rolledBack = dataSource.transaction(async (manager) => {
    const counts = await admin.cancel({ group: GROUP }, { ...ABORT, manager });
    expect(counts).toEqual({ matched: 2, cancelled: 1, aborted: 1, running: 0, absent: 0 });
    throw new Error('no');
  });
  await expect(rolledBack).rejects.toThrow('no');
  // Not by its effect: a handler of the test before may be late with its own.
  await two.until(`SELECT FROM delay_queue.delay WHERE key = 'a'`, ({ length }) => length === 0);
  expect(await left()).toEqual(['b scheduled']);
  await dataSource.transaction('SERIALIZABLE', async (manager) => {
    const refused = admin.cancel({ group: GROUP }, { ...ABORT, manager });
    await expect(refused).rejects.toMatchObject({ field: 'running' });
  });
});

it.each([
  [{ running: 'kill' }, 'running'],
  [{ abortWithin: '5s' }, 'abortWithin'],
  [{ running: 'abort', abortWithin: '2h' }, 'abortWithin'],
  [{ running: 'abort', signal: 1 }, 'signal'],
  [{ runing: 'abort' }, 'options.runing'],
])('refuses %j', async (options, field) => {
  const cancel = two.asks.admin.cancel({ group: GROUP }, options as never);
  await expect(cancel).rejects.toMatchObject({ field });
});
