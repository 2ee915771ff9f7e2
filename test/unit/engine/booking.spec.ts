import { expect, it } from '@jest/globals';
import { Booking } from '../../../src/delay-queue/engine/booking.js';
import type { Entry } from '../../../src/delay-queue/engine/read-ahead.js';
import { Slots } from '../../../src/delay-queue/engine/slots.js';
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

function bookingFor(...handlers: Partial<Handler>[]): { booking: Booking; slots: Slots } {
  const registry = new HandlerRegistry();
  for (const handler of handlers) {
    registry.add({ batch: null, concurrency: 1, ...handler } as Handler);
  }
  const slots = new Slots(registry, 5);
  return { booking: new Booking(slots, registry), slots };
}

const sizes = ({ calls }: Booking): number[] => calls.map((call) => call.length);

it('a name without batches: a slot and a call for each', () => {
  const { booking } = bookingFor({ name: 'a', concurrency: 2 });
  expect([1, 2, 3].map(() => booking.seat(entry('a')))).toEqual([true, true, false]);
  expect(sizes(booking)).toEqual([1, 1]);
});

it('a batch takes one slot, and the next begins when it is full', () => {
  const { booking, slots } = bookingFor({ name: 'a', batch: 3, concurrency: 2 });
  const entries = Array.from({ length: 8 }, () => entry('a'));
  expect(entries.map((each) => booking.seat(each)).filter(Boolean)).toHaveLength(6);
  expect(booking.calls).toEqual([entries.slice(0, 3), entries.slice(3, 6)]);
  slots.give('a');
  expect(slots.take('a')).toBe(true);
  expect(slots.take('a')).toBe(false);
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
  const entries = kinds.map((failed) => entry('a', failed));
  for (const each of entries) expect(booking.seat(each)).toBe(true);
  const healthy = entries.filter(({ failed }) => !failed);
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
