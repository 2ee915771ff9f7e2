import { beforeEach, describe, expect, it } from '@jest/globals';
import { ClaimAhead } from '../../../src/delay-queue/execution/places/claim-ahead.js';
import { BatchPace } from '../../../src/delay-queue/execution/places/batch-pace.js';
import { LimitBlocks } from '../../../src/delay-queue/execution/places/limit-blocks.js';
import { NextClaim } from '../../../src/delay-queue/execution/places/next-claim.js';
import type { Entry } from '../../../src/delay-queue/intake/entry.js';
import { ReadyQueue } from '../../../src/delay-queue/intake/ready-queue.js';
import { ConcurrencyLimits } from '../../../src/delay-queue/execution/places/concurrency-limits.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.js';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';

let lastId = 0;
const entry = (name: string, failed = false, odd: Partial<Entry> = {}): Entry => ({
  id: ++lastId,
  epoch: 0,
  name,
  group: null,
  wakeMs: 0,
  stalled: false,
  failed,
  place: 'ready',
  handle: 0,
  timesNotClaimed: 0,
  ...odd,
});

interface Setting {
  next: NextClaim;
  limits: ConcurrencyLimits;
  blocks: LimitBlocks;
  ready: ReadyQueue;
  pace: BatchPace;
}

const NOW_MS = 1_000;

function claimFor(...handlers: Partial<Handler>[]): Setting {
  const registry = new HandlerRegistry();
  for (const handler of handlers) {
    registry.add({ batch: null, concurrency: 1, limits: null, ...handler } as Handler);
  }
  const limits = new ConcurrencyLimits(registry, 5, new DelayEvents());
  const pace = new BatchPace(registry);
  const ready = new ReadyQueue();
  const intake = {
    waiting: (name: string) => ready.sizeOf(name),
    hasStalled: (name: string) => ready.hasStalled(name),
  };
  const blocks = new LimitBlocks();
  const ahead = new ClaimAhead(registry, 500);
  const parts = { limits, pace, blocks, ahead, intake };
  return { limits, pace, blocks, ready, next: new NextClaim(parts, NOW_MS) };
}

/** So many are due, and one claim takes of them what it can. */
function claim({ next, ready }: Setting, entries: readonly Entry[]): void {
  for (const each of entries) ready.push(each);
  ready.take(100, (each) => next.admit(each), false);
}

const entries = (count: number, name = 'a'): Entry[] =>
  Array.from({ length: count }, () => entry(name));

const sizes = ({ calls }: NextClaim): number[] => calls.map((call) => call.entries.length);

it('a batch takes one place, and the next begins when it is full', () => {
  const setting = claimFor({ name: 'a', batch: 3, concurrency: 2 });
  const due = entries(8);
  claim(setting, due);
  expect(setting.next.calls.map((call) => call.entries)).toEqual([
    due.slice(0, 3),
    due.slice(3, 6),
  ]);
  expect(setting.ready.sizeOf('a')).toBe(2);
  setting.limits.release('a');
  expect(setting.limits.acquire('a')).toBe(true);
  expect(setting.limits.acquire('a')).toBe(false);
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

  it.each(['ab', 'ba'])('of names that wait, the shortest wait is told: %s', (names) => {
    runs(1);
    for (let begun = 0; begun < 3; begun += 1) setting.pace.began(entry('b'), NOW_MS);
    for (const name of names) expect(setting.next.admit(entry(name))).toBe('no');
    expect(setting.next.pauseLeftMs).toBe(4);
  });

  it('what runs alone does not wait', () => {
    runs(1);
    const alone = [entry('a', true), entry('a', false, { stalled: true })];
    expect(alone.map((each) => setting.next.admit(each))).toEqual(['yes', 'yes']);
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

it('what failed before has a call of its own, whether it comes first, between or last', () => {
  const { next } = claimFor({ name: 'a', batch: 5, concurrency: 9 });
  const kinds = [true, false, true, false, false, true];
  const due = kinds.map((failed) => entry('a', failed));
  for (const each of due) expect(next.admit(each)).toBe('yes');
  const healthy = due.filter(({ failed }) => !failed);
  expect(next.calls.map((call) => call.entries).filter(({ length }) => length > 1)).toEqual([
    healthy,
  ]);
  expect(sizes(next).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 3]);
});

describe('the pace of batches', () => {
  let pace: BatchPace;

  beforeEach(() => {
    const registry = new HandlerRegistry();
    for (const [name, batch] of Object.entries({ many: 200, others: 200, ones: 1, plain: null })) {
      registry.add({ name, batch, place: '' } as Handler);
    }
    pace = new BatchPace(registry);
  });

  const begin = (count: number, atMs: number): void => {
    for (let begun = 0; begun < count; begun += 1) pace.began(entry('many'), atMs);
  };

  describe('the pause before a call that is not full', () => {
    it('counts from the last call that began', () => {
      begin(1, 1_000);
      begin(1, 1_100);
      expect([1_100, 1_103, 1_110, 2_000].map((nowMs) => pace.pauseLeftMs('many', nowMs))).toEqual([
        10, 7, 0, 0,
      ]);
    });
  });

  it.each<[string, Entry]>([
    ['failed before', entry('many', true)],
    ['went down with a process', entry('many', false, { stalled: true })],
    ['is of a batch of one', entry('ones')],
    ['is of a name without batches', entry('plain')],
  ])('what %s has its call to itself, and paces nobody', (_, alone) => {
    expect(pace.shares(alone)).toBe(false);
    pace.began(alone, 1_000);
    expect(pace.pauseLeftMs(alone.name, 1_000)).toBe(0);
    begin(2, 1_000);
    pace.ended(alone);
    expect(pace.pauseLeftMs('many', 1_000)).toBe(10);
  });
});
