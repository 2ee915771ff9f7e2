import { beforeEach, describe, expect, it } from '@jest/globals';
import { BatchPace } from '../../../src/delay-queue/execution/batch-pace.js';
import { Booking } from '../../../src/delay-queue/execution/reservations.js';
import type { Entry } from '../../../src/delay-queue/intake/read-ahead.js';
import { ReadyQueue } from '../../../src/delay-queue/intake/ready-queue.js';
import { Slots } from '../../../src/delay-queue/execution/concurrency-limits.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.js';
import { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';

let lastId = 0;
const entry = (name: string, failed = false): Entry => ({
  id: ++lastId,
  epoch: 0,
  name,
  wakeMs: 0,
  suspect: false,
  failed,
  place: 'ready',
  handle: 0,
  misses: 0,
});

interface Setting {
  booking: Booking;
  slots: Slots;
  ready: ReadyQueue;
  pace: BatchPace;
}

const NOW_MS = 1_000;

function bookingFor(...handlers: Partial<Handler>[]): Setting {
  const registry = new HandlerRegistry();
  for (const handler of handlers) {
    registry.add({ batch: null, concurrency: 1, ...handler } as Handler);
  }
  const parts = {
    slots: new Slots(registry, 5, { onRest: () => {}, onGoesOn: () => {} }),
    ready: new ReadyQueue(),
    pace: new BatchPace(registry),
  };
  return { ...parts, booking: new Booking(parts, NOW_MS) };
}

/** So many are due, and one claim takes of them what it can. */
function claim({ booking, ready }: Setting, entries: readonly Entry[]): void {
  for (const each of entries) ready.push(each);
  ready.take(100, (each) => booking.seat(each), false);
}

const entries = (count: number, name = 'a'): Entry[] =>
  Array.from({ length: count }, () => entry(name));

const sizes = ({ calls }: Booking): number[] => calls.map((call) => call.length);

it('a name without batches: a slot and a call for each', () => {
  const { booking } = bookingFor({ name: 'a', concurrency: 2 });
  expect([1, 2, 3].map(() => booking.seat(entry('a')))).toEqual([true, true, false]);
  expect(sizes(booking)).toEqual([1, 1]);
});

it('a batch takes one slot, and the next begins when it is full', () => {
  const setting = bookingFor({ name: 'a', batch: 3, concurrency: 2 });
  const due = entries(8);
  claim(setting, due);
  expect(setting.booking.calls).toEqual([due.slice(0, 3), due.slice(3, 6)]);
  expect(setting.ready.sizeOf('a')).toBe(2);
  setting.slots.give('a');
  expect(setting.slots.take('a')).toBe(true);
  expect(setting.slots.take('a')).toBe(false);
});

it('the first call of a name begins with whatever is due', () => {
  const setting = bookingFor({ name: 'a', batch: 200, concurrency: 10 });
  claim(setting, entries(1));
  expect(sizes(setting.booking)).toEqual([1]);
  expect(setting.booking.pauseLeftMs).toBe(Infinity);
});

describe('beside a call that runs', () => {
  let setting: Setting;

  beforeEach(() => {
    setting = bookingFor(
      { name: 'a', batch: 3, concurrency: 10 },
      { name: 'b', batch: 3, concurrency: 10 },
    );
  });

  const runs = (agoMs: number): void => {
    setting.slots.take('a');
    setting.pace.began(entry('a'), NOW_MS - agoMs);
  };

  it('a batch that is not full waits for the rest of the pause, and takes no slot', () => {
    runs(1);
    claim(setting, entries(2));
    expect(setting.booking.calls).toEqual([]);
    expect(setting.booking.pauseLeftMs).toBe(4);
    expect(setting.ready.sizeOf('a')).toBe(2);
    for (let left = 9; left > 0; left -= 1) expect(setting.slots.take('a')).toBe(true);
  });

  it('a full one begins at once, and what is beyond it waits from then on', () => {
    runs(1);
    claim(setting, entries(4));
    expect(sizes(setting.booking)).toEqual([3]);
    expect(setting.booking.pauseLeftMs).toBe(10);
  });

  it('whatever is due begins when the pause has passed', () => {
    runs(5);
    claim(setting, entries(2));
    expect(sizes(setting.booking)).toEqual([2]);
    expect(setting.booking.pauseLeftMs).toBe(Infinity);
  });

  it('other names begin', () => {
    runs(1);
    claim(setting, [...entries(2, 'a'), ...entries(2, 'b')]);
    expect(setting.booking.calls.flat().map(({ name }) => name)).toEqual(['b', 'b']);
  });

  it.each(['ab', 'ba'])('of names that wait, the shortest wait is told: %s', (names) => {
    runs(1);
    for (let begun = 0; begun < 3; begun += 1) setting.pace.began(entry('b'), NOW_MS);
    for (const name of names) expect(setting.booking.seat(entry(name))).toBe(false);
    expect(setting.booking.pauseLeftMs).toBe(4);
  });

  it('what runs alone does not wait', () => {
    runs(1);
    const alone = [entry('a', true), { ...entry('a'), suspect: true }];
    expect(alone.map((each) => setting.booking.seat(each))).toEqual([true, true]);
    expect(sizes(setting.booking)).toEqual([1, 1]);
  });

  it('without a slot nobody is told to wait', () => {
    runs(1);
    while (setting.slots.take('a')) setting.pace.began(entry('a'), NOW_MS - 10_000);
    claim(setting, entries(2));
    expect(setting.booking.calls).toEqual([]);
    expect(setting.booking.pauseLeftMs).toBe(Infinity);
  });
});

it('a batch of one is a call for each', () => {
  const { booking } = bookingFor({ name: 'a', batch: 1, concurrency: 3 });
  for (let count = 0; count < 3; count += 1) booking.seat(entry('a'));
  expect(sizes(booking)).toEqual([1, 1, 1]);
});

it('names do not share a batch, and take turns without closing each other’s', () => {
  const { booking } = bookingFor({ name: 'a', batch: 3 }, { name: 'b', batch: 3 });
  for (const name of ['a', 'b', 'a', 'b', 'a']) expect(booking.seat(entry(name))).toBe(true);
  expect(booking.calls.map((call) => call.map(({ name }) => name))).toEqual([
    ['a', 'a', 'a'],
    ['b', 'b'],
  ]);
});

it('what failed before has a call of its own, whether it comes first, between or last', () => {
  const { booking } = bookingFor({ name: 'a', batch: 5, concurrency: 9 });
  const kinds = [true, false, true, false, false, true];
  const due = kinds.map((failed) => entry('a', failed));
  for (const each of due) expect(booking.seat(each)).toBe(true);
  const healthy = due.filter(({ failed }) => !failed);
  expect(booking.calls.filter((call) => call.length > 1)).toEqual([healthy]);
  expect(sizes(booking).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 3]);
});

it('without a slot, what failed before has no seat in a batch that has room', () => {
  const { booking } = bookingFor({ name: 'a', batch: 5 });
  expect(booking.seat(entry('a'))).toBe(true);
  expect(booking.seat(entry('a', true))).toBe(false);
  expect(booking.seat(entry('a'))).toBe(true);
  expect(sizes(booking)).toEqual([2]);
});
