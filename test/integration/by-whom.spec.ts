import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ChangeOptions, DelayTarget } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler, type Signal, signal } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

/** Who asked for a change, as the call says in `by`. */

let stage: Stage;
let node: DelayNode;
let gate: Signal<void>;

beforeEach(async () => {
  stage = await Stage.open();
  gate = signal();
  node = await stage.start({
    providers: [
      plainHandler('test.fails', () => Promise.reject(new Error('no')), { maxAttempts: 1 }),
      plainHandler('test.held', (_, { signal: over }) => {
        over.addEventListener('abort', () => gate.reject(new Error('aborted')));
        return gate.promise;
      }),
    ],
  });
});

afterEach(async () => {
  gate.resolve();
  await stage.close();
});

const KEY: readonly [DelayTarget<'test.a'>] = [{ name: 'test.a', key: 'k' }];
const FILTER = { name: 'test.a', key: 'k' } as const;
const DEAD = { name: 'test.fails', key: 'k' } as const;

type Change = (options: ChangeOptions) => Promise<unknown>;

/** Each call that changes a delay, and by what it names the delay. */
const MOVES: Readonly<Record<string, Change>> = {
  'DelayService.reschedule': (by) => node.delays.reschedule('test.a', 'k', { extendBy: 1 }, by),
  'DelayService.rescheduleMany': (by) => node.delays.rescheduleMany(KEY, { extendBy: 1 }, by),
  'reschedule of keys': (by) => node.admin.reschedule(KEY, { extendBy: 1 }, by),
  'reschedule of a filter': (by) => node.admin.reschedule(FILTER, { extendBy: 1 }, by),
  'runNow of keys': (by) => node.admin.runNow(KEY, by),
  'runNow of a filter': (by) => node.admin.runNow(FILTER, by),
};

const REVIVALS: Readonly<Record<string, Change>> = {
  'DelayService.retryDead': (by) => node.delays.retryDead('test.fails', 'k', by),
  'retryDead of keys': (by) => node.admin.retryDead([DEAD], by),
  'retryDead of a filter': (by) => node.admin.retryDead(DEAD, by),
};

const CANCELS: Readonly<Record<string, Change>> = {
  'DelayService.cancel': (by) => node.delays.cancel('test.a', 'k', by),
  'DelayService.cancelMany': (by) => node.delays.cancelMany(KEY, by),
  'cancel of keys': (by) => node.admin.cancel(KEY, by),
  'cancel of a filter': (by) => node.admin.cancel(FILTER, by),
};

const DISCARDS: Readonly<Record<string, Change>> = {
  'discardDead of keys': (by) => node.admin.discardDead([DEAD], by),
  'discardDead of a filter': (by) => node.admin.discardDead(DEAD, by),
  'cancel of a dead letter': (by) => node.delays.cancel('test.fails', 'k', by),
};

/** Alone, and in the caller's transaction. */
const ways = (change: Change): readonly Change[] => [
  change,
  (by) => node.dataSource.transaction((manager) => change({ ...by, manager })),
];

const scheduled = () => node.delays.schedule('test.a', { n: 1 }, { key: 'k', after: '1h' });

async function died(): Promise<void> {
  const dead = node.next('dead');
  await node.delays.schedule('test.fails', null, { key: 'k', after: 0 });
  await dead;
}

const moves = async (name: 'test.a' | 'test.fails') =>
  (await node.delays.find(name, 'k'))?.moveLog.map(({ by }) => by);

const ends = async (name: 'test.a' | 'test.fails') =>
  (await node.delays.history(name, 'k')).map(({ state, by }) => `${state} ${by}`);

describe.each(Object.keys(MOVES))('%s', (what) => {
  it('keeps who asked beside the move, and nothing where the call does not say', async () => {
    await scheduled();
    const wanted: (string | null)[] = [];
    for (const move of ways(MOVES[what]!)) {
      await move({ by: 'Ann, for ticket 7' });
      await move({});
      wanted.push('Ann, for ticket 7', null);
    }
    expect(await moves('test.a')).toEqual(wanted);
    const { delays } = await node.admin.story('k');
    expect(delays[0]?.moveLog.map(({ by }) => by)).toEqual(wanted);
  });
});

describe.each(Object.keys(REVIVALS))('%s', (what) => {
  it('keeps who asked beside the move', async () => {
    const wanted: string[] = [];
    for (const [index, revive] of ways(REVIVALS[what]!).entries()) {
      if (index === 0) await died();
      const dead = node.next('dead');
      await revive({ by: `ann ${index}` });
      await dead;
      wanted.push(`ann ${index}`);
    }
    expect(await moves('test.fails')).toEqual(wanted);
  });
});

describe.each(Object.keys({ ...CANCELS, ...DISCARDS }))('%s', (what) => {
  it('keeps who asked in the history of the delay', async () => {
    const change = (CANCELS[what] ?? DISCARDS[what])!;
    const name = what in CANCELS ? 'test.a' : 'test.fails';
    const state = what in CANCELS ? 'cancelled' : 'discarded';
    const wanted: string[] = [];
    for (const [index, way] of ways(change).entries()) {
      for (const given of [{ by: `ann ${index}` }, {}]) {
        await (what in CANCELS ? scheduled() : died());
        await way(given);
        wanted.unshift(`${state} ${given.by ?? null}`);
      }
    }
    expect(await ends(name)).toEqual(wanted);
    expect(await node.admin.explain(name, 'k')).toMatchObject({ state, by: null });
    const page = await node.admin.history({ key: 'k' });
    expect(page.history.map(({ by }) => by)).toEqual([null, 'ann 1', null, 'ann 0']);
  });

  it('is done where no history is kept, too', async () => {
    const keeps = node;
    const forgets = await stage.start({ options: { history: false, worker: false } });
    for (const way of ways((CANCELS[what] ?? DISCARDS[what])!)) {
      await (what in CANCELS ? scheduled() : died());
      node = forgets;
      await way({ by: 'ann' });
      node = keeps;
    }
    expect(await node.admin.story('k')).toMatchObject({ delays: [], history: [] });
  });
});

it('a cancel that first ends an attempt keeps it as well, and an end by itself has none', async () => {
  for (const cancel of [
    () => node.delays.cancel('test.held', 'k', { running: 'abort', by: 'ann' }),
    () => node.admin.cancel({ name: 'test.held' }, { running: 'abort', by: 'ann' }),
  ]) {
    gate = signal();
    gate.promise.catch(() => {});
    await node.delays.schedule('test.held', null, { key: 'k', after: 0 });
    await until(
      () => node.admin.explain('test.held', 'k'),
      ({ reason }) => reason === 'running',
    );
    await cancel();
    expect((await node.delays.history('test.held', 'k'))[0]).toMatchObject({
      state: 'cancelled',
      by: 'ann',
    });
  }
  gate = signal();
  gate.resolve();
  const completed = node.next('completed');
  await node.delays.schedule('test.held', null, { key: 'k', after: 0 });
  await completed;
  const [last] = await until(
    () => node.delays.history('test.held', 'k'),
    ([newest]) => newest?.state === 'completed',
  );
  expect(last?.by).toBeNull();
});

it('a pause says who asked for it, and the next one who asked for that', async () => {
  const paused = await node.admin.pause('test.a', { by: 'ann', reason: 'why' });
  expect(paused).toMatchObject({ by: 'ann', reason: 'why' });
  await scheduled();
  await node.admin.runNow(KEY);
  const found = await node.admin.explain('test.a', 'k');
  expect(found).toMatchObject({ reason: 'paused', by: 'ann', why: 'why' });
  expect((await node.admin.stats()).pauses).toMatchObject([{ by: 'ann' }]);
  expect(await node.admin.pause('test.a')).toMatchObject({ by: null, reason: null });
  await node.admin.pause('test.a', { by: 'bob' });
  expect(await node.admin.resume('test.a', { by: 'ann' })).toMatchObject({ by: 'bob' });
});

it('is a text of 1 to 255 characters, in every call', async () => {
  const pausing: Change[] = [
    (by) => node.admin.pause('test.a', by),
    (by) => node.admin.resume('test.a', by),
  ];
  const all = { ...MOVES, ...REVIVALS, ...CANCELS, ...DISCARDS };
  for (const call of [...Object.values(all), ...pausing]) {
    for (const by of ['', 'x'.repeat(256), 7, null, 'a\0b', '\ud800']) {
      await expect(call({ by } as ChangeOptions)).rejects.toMatchObject({
        code: 'DELAY_INVALID',
        field: 'by',
      });
    }
    await call({ by: 'x'.repeat(255) });
  }
});

it('the past is counted by how and when it ended, beside what lives', async () => {
  const group = 'customer-7';
  for (const [key, end] of [
    ['a', 'cancelled'],
    ['b', 'cancelled'],
    ['c', 'scheduled'],
    ['d', 'dead'],
  ] as const) {
    const name = end === 'dead' ? 'test.fails' : 'test.a';
    const dead = end === 'dead' ? node.next('dead') : undefined;
    const payload = end === 'dead' ? null : { n: 1 };
    await node.delays.schedule(name, payload, { key, group, after: dead ? 0 : '1h' });
    await dead;
    if (end === 'cancelled') await node.delays.cancel('test.a', key);
  }
  await node.admin.discardDead({ group });
  const counted = (filter: Parameters<DelayNode['admin']['count']>[0]) => node.admin.count(filter);
  expect(await counted({ group })).toBe(1);
  expect(await counted({ group, state: 'cancelled' })).toBe(2);
  expect(await counted({ group, state: ['cancelled', 'discarded'] })).toBe(3);
  expect(await counted({ group, state: 'completed' })).toBe(0);
  expect(await counted({ key: 'a', state: 'cancelled' })).toBe(1);
  expect(await counted({ endedFrom: new Date(0) })).toBe(3);
  expect(await counted({ group: 'another', endedFrom: new Date(0) })).toBe(0);
  expect(await counted({ endedBefore: new Date(0), state: 'cancelled' })).toBe(0);
  await expect(counted({ state: ['cancelled', 'dead'] } as never)).rejects.toMatchObject({
    field: 'filter.state',
  });
  const listed = await node.admin.list({ group, state: ['cancelled', 'discarded'] }, { limit: 2 });
  expect(listed.map(({ name, key, state }) => [name, key, state])).toEqual([
    ['test.fails', 'd', 'discarded'],
    ['test.a', 'b', 'cancelled'],
  ]);
  expect((await node.admin.list({ group })).map(({ key }) => key)).toEqual(['c']);
  const paged = { after: '1' } as object;
  await expect(node.admin.list({ state: 'cancelled' }, paged)).rejects.toThrow(/history/);
  await expect(node.admin.cancel({ state: 'cancelled' } as never)).rejects.toThrow(/history/);
});
