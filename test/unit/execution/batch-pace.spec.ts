import { beforeEach, describe, expect, it } from '@jest/globals';
import { BatchPace } from '../../../src/delay-queue/execution/batch-pace.js';
import type { Entry } from '../../../src/delay-queue/intake/entry.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.js';
import { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';

const entry = (name: string, odd: Partial<Entry> = {}): Entry => ({
  id: 1,
  epoch: 0,
  name,
  wakeMs: 0,
  stalled: false,
  failed: false,
  place: 'ready',
  handle: 0,
  timesNotClaimed: 0,
  ...odd,
});

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
  it('is none while no call of that name runs', () => {
    expect(pace.pauseLeftMs('many', 1_000)).toBe(0);
    begin(1, 1_000);
    expect(pace.pauseLeftMs('others', 1_000)).toBe(0);
    pace.ended(entry('many'));
    expect(pace.pauseLeftMs('many', 1_000)).toBe(0);
  });

  it('doubles with each call that runs, up to a second', () => {
    const pauses = Array.from({ length: 12 }, () => {
      begin(1, 1_000);
      return pace.pauseLeftMs('many', 1_000);
    });
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000, 1_000]);
  });

  it('is shorter again when calls have ended', () => {
    begin(4, 1_000);
    pace.ended(entry('many'));
    pace.ended(entry('many'));
    expect(pace.pauseLeftMs('many', 1_000)).toBe(10);
  });

  it('counts from the last call that began', () => {
    begin(1, 1_000);
    begin(1, 1_100);
    expect([1_100, 1_103, 1_110, 2_000].map((nowMs) => pace.pauseLeftMs('many', nowMs))).toEqual([
      10, 7, 0, 0,
    ]);
  });
});

it.each<[string, Entry]>([
  ['failed before', entry('many', { failed: true })],
  ['went down with a process', entry('many', { stalled: true })],
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
