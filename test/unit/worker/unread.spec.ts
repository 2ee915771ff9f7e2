import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Completer } from '../../../src/delay-queue/core/worker/completer.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';

type PassOn = { id: number; epoch: number; waitMs: number | null };

/** What was asked for, and for how long a node counts as alive. */
let asked: PassOn[];
let alive: number[];
/** What no other node may read, and what is no longer this one's. */
let mine: Set<number>;
let gone: Set<number>;
let passed: unknown[];
let told: string[];
let jobs: Jobs;
let completer: Completer;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'], now: 0 });
  jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
  [asked, alive, mine, gone, passed, told] = [[], [], new Set(), new Set(), [], []];
  const store = async (items: readonly PassOn[], aliveMs: number) => {
    asked.push(...items);
    alive.push(aliveMs);
    return items
      .filter(({ id }) => !gone.has(id))
      .map(({ id, epoch }) => ({
        id,
        epoch: epoch + 1,
        name: 'a',
        group: null,
        passed: !mine.has(id),
        wake_ms: 7,
      }));
  };
  jobs = new Jobs();
  const events = new DelayEvents();
  for (const name of ['unreadable', 'retrying', 'lost'] as const)
    events.on(name, ({ id }) => told.push(`${id} ${name}`));
  const of = { nodeName: 'node', passOn: store, lookAt: async () => [], retry };
  completer = new Completer({ store: of as never, events, aliveMs: 1_000, jobs }, {
    passed: (wake: unknown) => passed.push(wake),
    wrote: () => {},
  } as never);
});

const retry = async (items: readonly { id: number }[]) =>
  items.map(({ id }) => ({ id, wake_ms: null }));

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

async function passOn(...ids: number[]): Promise<void> {
  const handler = { limits: null, backoffMs: () => 0 };
  for (const id of ids) {
    const row = { id, name: 'a', attempts: 1, max_attempts: 2 };
    const more = { row, handler, extras: {}, onDead: null, event: { id } };
    const attempt = { id, epoch: 1, over: true, ...more };
    completer.report(attempt as never, { kind: 'unreadable', error: new Error('no') });
  }
  while (completer.size > 0) await new Promise(setImmediate);
}

const leaves = (id: number, epoch: number, refused?: boolean): boolean =>
  jobs.isLeft({ id, epoch, ...(refused !== undefined && { refused }) });

it('what is passed on is told of as others may take it, and what is not is this node’s', async () => {
  [mine, gone] = [new Set([2]), new Set([3])];
  await passOn(1, 2, 3);
  expect(told.toSorted()).toEqual(['1 unreadable', '2 retrying', '3 lost']);
  expect(passed).toEqual([{ id: 1, epoch: 2, name: 'a', group: null, wakeMs: 7, stalled: false }]);
  expect(asked).toMatchObject([{ waitMs: null }, { waitMs: null }, { waitMs: null }]);
  expect(alive).toEqual([1_000]);
  expect([1, 2, 3].map((id) => leaves(id, 2))).toEqual([true, false, false]);
});

it('what is passed on is left to others for half a minute, as it is or as another one has refused it', async () => {
  await passOn(1);
  expect([leaves(1, 1), leaves(1, 2), leaves(1, 3, true)]).toEqual([false, true, true]);
  jest.advanceTimersByTime(29_999);
  expect(leaves(1, 2)).toBe(true);
  jest.advanceTimersByTime(1);
  expect(leaves(1, 2)).toBe(false);
});

it('what is passed on is any node’s when it is written anew, and when nodes come or go', async () => {
  await passOn(1, 2);
  expect([leaves(1, 3), leaves(1, 2)]).toEqual([false, false]);
  expect([leaves(2, 3, false), leaves(2, 2)]).toEqual([false, false]);
  await passOn(3);
  jobs.leaveNothing();
  expect(leaves(3, 2)).toBe(false);
});

it('so many are remembered, and of what is beyond the row itself waits', async () => {
  await passOn(...Array.from({ length: 50_000 }, (_, id) => id));
  expect(asked.every(({ waitMs }) => waitMs === null)).toBe(true);
  await passOn(60_000);
  expect([asked.at(-1)?.waitMs, leaves(60_000, 2), passed.length]).toEqual([30_000, false, 50_001]);
  // One that is passed on again is the youngest.
  await passOn(1);
  jest.advanceTimersByTime(30_000);
  await passOn(70_000);
  expect([asked.at(-1)?.waitMs, leaves(70_000, 2)]).toEqual([null, true]);
});
