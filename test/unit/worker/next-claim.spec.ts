import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from '../../../src/delay-queue/api/events.js';
import { BatchPace, Prefetch, NextClaim } from '../../../src/delay-queue/worker/admission.js';
import { ClaimSizes, CallSlots, Throttles } from '../../../src/delay-queue/worker/limits.js';
import {
  type Handler,
  HandlerRegistry,
} from '../../../src/delay-queue/handlers/handler.registry.js';
import { type Entry, ReadyQueue } from '../../../src/delay-queue/worker/fair-queue.js';
import { WheelService } from '../../../src/delay-queue/timer-wheel/wheel.service.js';

const NOW_MS = 1_000;
const NAMES = { a: 3, b: 3, ones: 1, plain: null };

let lastId = 0;
const entry = (name: string, odd: Partial<Entry> = {}): Entry => {
  const usual = { epoch: 0, group: null, wakeMs: 0, stalled: false, failed: false, handle: 0 };
  const known = { state: 'ready', timesNotClaimed: 0, hinted: false, scanNo: 0 } as const;
  return { id: ++lastId, name, ...usual, ...known, ...odd };
};

/** Of a name of which one runs at a time. */
const ONE = { name: 'one', batch: null, concurrency: 1, limits: null, maxAttempts: 3 };

let limits: CallSlots;
let ahead: Prefetch;
let pace: BatchPace;
let ready: ReadyQueue;
let next: NextClaim;

const wheel = new WheelService();
afterAll(() => wheel.onApplicationShutdown());

beforeEach(() => {
  const registry = new HandlerRegistry();
  for (const [name, batch] of Object.entries(NAMES)) {
    registry.add({ name, batch, concurrency: 9, limits: null } as Handler);
  }
  registry.add({ ...ONE, transactional: false } as Handler);
  limits = new CallSlots(registry, 5, new DelayEvents(), () => {});
  pace = new BatchPace(registry);
  ready = new ReadyQueue();
  const queue = {
    waiting: (name: string) => ready.sizeOf(name),
    hasStalled: (name: string) => ready.hasStalled(name),
  };
  ahead = new Prefetch(registry, 500);
  const throttles = new Throttles(wheel, { throttleEnded: () => {}, vacant: () => {} });
  const sizes = new ClaimSizes(500, () => 30_000);
  next = new NextClaim({ limits, pace, throttles, ahead, sizes, queue }, NOW_MS);
});

/** So many are due, and one claim takes of them what it can. */
function claim(count: number): Entry[] {
  const due = Array.from({ length: count }, () => entry('a'));
  for (const each of due) ready.push(each);
  ready.take(100, (each) => next.admit(each), false);
  return due;
}

/** A call of a batch. */
const runs = (agoMs: number): void => {
  limits.acquire('a');
  pace.began(entry('a'), NOW_MS - agoMs);
};

const called = (): Entry[][] => next.calls.map(({ entries }) => entries);

const placesLeft = (): number => {
  let left = 0;
  while (limits.acquire('a')) left += 1;
  return left;
};

it('a batch takes one place, and the next begins when it is full', () => {
  for (let taken = 0; taken < 7; taken += 1) limits.acquire('a');
  const due = claim(8);
  expect(called()).toEqual([due.slice(0, 3), due.slice(3, 6)]);
  expect(ready.sizeOf('a')).toBe(2);
  limits.release('a');
  expect(placesLeft()).toBe(1);
});

it('what failed before or went down with a process has a call of its own, wherever it comes', () => {
  const kinds = [{ failed: true }, {}, { stalled: true }, {}, {}, { failed: true }];
  const due = kinds.map((kind) => entry('a', kind));
  expect(due.map((each) => next.admit(each))).toEqual(due.map(() => 'yes'));
  expect(called()).toEqual([[due[0]], [due[1], due[3], due[4]], [due[2]], [due[5]]]);
});

it('one at a time: a place that is free is for the first of those that wait', () => {
  ahead.took('one', 1, false);
  ahead.ask('one');
  ahead.answered('one');
  expect(next.admit(entry('one'))).toBe('yes');
  expect(next.calls.map(({ hasSlot }) => hasSlot)).toEqual([false]);
  // Who may not wait would else never begin.
  expect(next.admit(entry('one', { failed: true }))).toBe('yes');
  expect(next.calls.map(({ hasSlot }) => hasSlot)).toEqual([false, true]);
});

describe('beside a call that runs', () => {
  it.each([
    ['that is not full waits for the rest of the pause, and takes no place', 1, 2, [], 4, 8],
    ['that is full begins at once, and what is beyond it waits from then on', 1, 4, [3], 10, 7],
    ['begins when the pause has passed', 5, 2, [2], Infinity, 7],
  ])('a batch %s', (_, agoMs, count, sizes, pauseLeftMs, places) => {
    runs(agoMs);
    claim(count);
    expect(called().map(({ length }) => length)).toEqual(sizes);
    expect(next.pauseLeftMs).toBe(pauseLeftMs);
    expect(placesLeft()).toBe(places);
  });

  it.each(['ab', 'ba'])('of names that wait, the shortest wait is told: %s', (names) => {
    runs(1);
    for (let begun = 0; begun < 3; begun += 1) pace.began(entry('b'), NOW_MS);
    for (const name of names) expect(next.admit(entry(name))).toBe('no');
    expect(next.pauseLeftMs).toBe(4);
  });

  it('what runs alone does not wait', () => {
    runs(1);
    const alone = [entry('a', { failed: true }), entry('a', { stalled: true })];
    expect(alone.map((each) => next.admit(each))).toEqual(['yes', 'yes']);
  });

  it('without a place nobody is told to wait', () => {
    for (let running = 0; running < 9; running += 1) runs(10_000);
    claim(2);
    expect([called(), next.pauseLeftMs]).toEqual([[], Infinity]);
  });
});

describe('the pause before a batch that is not full', () => {
  it('counts from the last call that began', () => {
    for (const atMs of [1_000, 1_100]) pace.began(entry('a'), atMs);
    const left = [1_100, 1_103, 1_110, 2_000].map((nowMs) => pace.pauseLeftMs('a', nowMs));
    expect(left).toEqual([10, 7, 0, 0]);
  });

  it.each<[string, string, Partial<Entry>]>([
    ['failed before', 'a', { failed: true }],
    ['went down with a process', 'a', { stalled: true }],
    ['is of a batch of one', 'ones', {}],
    ['is of a name without batches', 'plain', {}],
  ])('does not count what %s: it has its call to itself', (_, name, odd) => {
    const alone = entry(name, odd);
    expect(pace.shares(alone)).toBe(false);
    pace.began(alone, 1_000);
    expect(pace.pauseLeftMs(name, 1_000)).toBe(0);
    for (let begun = 0; begun < 2; begun += 1) pace.began(entry('a'), 1_000);
    pace.ended(alone);
    expect(pace.pauseLeftMs('a', 1_000)).toBe(10);
  });
});
