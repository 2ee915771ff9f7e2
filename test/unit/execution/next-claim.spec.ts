import { beforeEach, describe, expect, it } from '@jest/globals';
import { BatchPace } from '../../../src/delay-queue/execution/batch-pace.js';
import { NextClaim } from '../../../src/delay-queue/execution/next-claim.js';
import type { Entry } from '../../../src/delay-queue/intake/entry.js';
import { ReadyQueue } from '../../../src/delay-queue/intake/ready-queue.js';
import { ConcurrencyLimits } from '../../../src/delay-queue/execution/concurrency-limits.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.js';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';

let lastId = 0;
const entry = (name: string, failed = false): Entry => ({
  id: ++lastId,
  epoch: 0,
  name,
  wakeMs: 0,
  stalled: false,
  failed,
  place: 'ready',
  handle: 0,
  timesNotClaimed: 0,
});

interface Setting {
  next: NextClaim;
  limits: ConcurrencyLimits;
  ready: ReadyQueue;
  pace: BatchPace;
}

const NOW_MS = 1_000;

function claimFor(...handlers: Partial<Handler>[]): Setting {
  const registry = new HandlerRegistry();
  for (const handler of handlers) {
    registry.add({ batch: null, concurrency: 1, ...handler } as Handler);
  }
  const limits = new ConcurrencyLimits(registry, 5, new DelayEvents());
  const pace = new BatchPace(registry);
  const ready = new ReadyQueue();
  const intake = { waiting: (name: string) => ready.sizeOf(name) };
  return { limits, pace, ready, next: new NextClaim({ limits, pace, intake }, NOW_MS) };
}

/** So many are due, and one claim takes of them what it can. */
function claim({ next, ready }: Setting, entries: readonly Entry[]): void {
  for (const each of entries) ready.push(each);
  ready.take(100, (each) => next.admit(each), false);
}

const entries = (count: number, name = 'a'): Entry[] =>
  Array.from({ length: count }, () => entry(name));

const sizes = ({ calls }: NextClaim): number[] => calls.map((call) => call.length);

it('a name without batches: a place and a call for each', () => {
  const { next } = claimFor({ name: 'a', concurrency: 2 });
  expect([1, 2, 3].map(() => next.admit(entry('a')))).toEqual([true, true, false]);
  expect(sizes(next)).toEqual([1, 1]);
});

it('a batch takes one place, and the next begins when it is full', () => {
  const setting = claimFor({ name: 'a', batch: 3, concurrency: 2 });
  const due = entries(8);
  claim(setting, due);
  expect(setting.next.calls).toEqual([due.slice(0, 3), due.slice(3, 6)]);
  expect(setting.ready.sizeOf('a')).toBe(2);
  setting.limits.release('a');
  expect(setting.limits.acquire('a')).toBe(true);
  expect(setting.limits.acquire('a')).toBe(false);
});

it('the first call of a name begins with whatever is due', () => {
  const setting = claimFor({ name: 'a', batch: 200, concurrency: 10 });
  claim(setting, entries(1));
  expect(sizes(setting.next)).toEqual([1]);
  expect(setting.next.pauseLeftMs).toBe(Infinity);
});

describe('beside a call that runs', () => {
  let setting: Setting;

  beforeEach(() => {
    setting = claimFor(
      { name: 'a', batch: 3, concurrency: 10 },
      { name: 'b', batch: 3, concurrency: 10 },
    );
  });

  const runs = (agoMs: number): void => {
    setting.limits.acquire('a');
    setting.pace.began(entry('a'), NOW_MS - agoMs);
  };

  it('a batch that is not full waits for the rest of the pause, and takes no place', () => {
    runs(1);
    claim(setting, entries(2));
    expect(setting.next.calls).toEqual([]);
    expect(setting.next.pauseLeftMs).toBe(4);
    expect(setting.ready.sizeOf('a')).toBe(2);
    for (let left = 9; left > 0; left -= 1) expect(setting.limits.acquire('a')).toBe(true);
  });

  it('a full one begins at once, and what is beyond it waits from then on', () => {
    runs(1);
    claim(setting, entries(4));
    expect(sizes(setting.next)).toEqual([3]);
    expect(setting.next.pauseLeftMs).toBe(10);
  });

  it('whatever is due begins when the pause has passed', () => {
    runs(5);
    claim(setting, entries(2));
    expect(sizes(setting.next)).toEqual([2]);
    expect(setting.next.pauseLeftMs).toBe(Infinity);
  });

  it('other names begin', () => {
    runs(1);
    claim(setting, [...entries(2, 'a'), ...entries(2, 'b')]);
    expect(setting.next.calls.flat().map(({ name }) => name)).toEqual(['b', 'b']);
  });

  it.each(['ab', 'ba'])('of names that wait, the shortest wait is told: %s', (names) => {
    runs(1);
    for (let begun = 0; begun < 3; begun += 1) setting.pace.began(entry('b'), NOW_MS);
    for (const name of names) expect(setting.next.admit(entry(name))).toBe(false);
    expect(setting.next.pauseLeftMs).toBe(4);
  });

  it('what runs alone does not wait', () => {
    runs(1);
    const alone = [entry('a', true), { ...entry('a'), stalled: true }];
    expect(alone.map((each) => setting.next.admit(each))).toEqual([true, true]);
    expect(sizes(setting.next)).toEqual([1, 1]);
  });

  it('without a place nobody is told to wait', () => {
    runs(1);
    while (setting.limits.acquire('a')) setting.pace.began(entry('a'), NOW_MS - 10_000);
    claim(setting, entries(2));
    expect(setting.next.calls).toEqual([]);
    expect(setting.next.pauseLeftMs).toBe(Infinity);
  });
});

it('a batch of one is a call for each', () => {
  const { next } = claimFor({ name: 'a', batch: 1, concurrency: 3 });
  for (let count = 0; count < 3; count += 1) next.admit(entry('a'));
  expect(sizes(next)).toEqual([1, 1, 1]);
});

it('names do not share a batch, and take turns without closing each other’s', () => {
  const { next } = claimFor({ name: 'a', batch: 3 }, { name: 'b', batch: 3 });
  for (const name of ['a', 'b', 'a', 'b', 'a']) expect(next.admit(entry(name))).toBe(true);
  expect(next.calls.map((call) => call.map(({ name }) => name))).toEqual([
    ['a', 'a', 'a'],
    ['b', 'b'],
  ]);
});

it('what failed before has a call of its own, whether it comes first, between or last', () => {
  const { next } = claimFor({ name: 'a', batch: 5, concurrency: 9 });
  const kinds = [true, false, true, false, false, true];
  const due = kinds.map((failed) => entry('a', failed));
  for (const each of due) expect(next.admit(each)).toBe(true);
  const healthy = due.filter(({ failed }) => !failed);
  expect(next.calls.filter((call) => call.length > 1)).toEqual([healthy]);
  expect(sizes(next).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 3]);
});

it('without a place, what failed before is not admitted to a batch that has room', () => {
  const { next } = claimFor({ name: 'a', batch: 5 });
  expect(next.admit(entry('a'))).toBe(true);
  expect(next.admit(entry('a', true))).toBe(false);
  expect(next.admit(entry('a'))).toBe(true);
  expect(sizes(next)).toEqual([2]);
});
