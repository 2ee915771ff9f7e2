import { beforeEach, expect, it } from '@jest/globals';
import { DatabaseClock } from '../../../src/delay-queue/core/database/database-clock.js';

/** The database is ahead of this process's monotonic clock by so much. */
const OFFSET_MS = 1_760_000_000_000;

let clock: DatabaseClock;
let jumps: number[];

beforeEach(() => {
  clock = new DatabaseClock();
  jumps = [];
  clock.jumped.on((byMs) => jumps.push(byMs));
});

/** A reading asked for at `atMs`; there and back take so long, and the offset is as given. */
function read(atMs: number, thereMs: number, backMs: number, offsetMs = OFFSET_MS): void {
  clock.sample(atMs, atMs + thereMs + backMs, atMs + thereMs + offsetMs);
}

/** By how much the estimate is off. */
const offMs = (): number => -clock.toMonotonicMs(0) - OFFSET_MS;

it('the database’s clock is better known by a second reading towards the end of a statement', () => {
  // There 1 ms, 20 ms of work between the readings, and 3 ms for the commit and back.
  clock.sample(1_000, 1_024, 1_001 + OFFSET_MS, 1_021 + OFFSET_MS);
  expect(Math.abs(offMs())).toBe(1);
  read(2_000, 2.5, 2.5, OFFSET_MS + 0.5);
  expect(Math.abs(offMs())).toBe(1);
});

it('the reading wins that can be off by the least', () => {
  read(1_000, 1, 1);
  read(2_000, 30, 0);
  read(3_000, 0, 30);
  expect(offMs()).toBe(0);
  read(4_000, 0.5, 0.5, OFFSET_MS + 0.25);
  expect(offMs()).toBe(0.25);
});

it('an old reading is trusted less with every second', () => {
  read(0, 1, 1);
  // 100 ppm in a quarter of an hour are 90 ms.
  read(900_000, 5, 5, OFFSET_MS + 30);
  expect(offMs()).toBe(30);
  expect(jumps).toEqual([]);
});

it('a clock that jumps is followed at once and told of once, and a slow answer is no jump', () => {
  read(1_000, 1, 1);
  read(2_000, 4_000, 0);
  read(7_000, 0, 4_000);
  expect([jumps, offMs()]).toEqual([[], 0]);
  for (const atMs of [8_000, 9_000]) read(atMs, 20, 20, OFFSET_MS - 3_600_000);
  expect([jumps, offMs()]).toEqual([[-3_600_000], -3_600_000]);
});

it('before the first reading no time is known', () => {
  expect(() => clock.nowMs()).toThrow(/not been read yet/);
});
