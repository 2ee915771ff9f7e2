import { beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseClock } from '../../../src/delay-queue/database/database-clock.js';

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

const offsetMs = (): number => -clock.toMonotonicMs(0);

describe('DatabaseClock', () => {
  it('knows better by a second reading towards the end of the statement', () => {
    // There 1 ms, 20 ms of work between the readings, and 3 ms for the commit and back.
    clock.sample(1_000, 1_024, 1_001 + OFFSET_MS, 1_021 + OFFSET_MS);
    expect(Math.abs(offsetMs() - OFFSET_MS)).toBe(1);
    read(2_000, 2.5, 2.5, OFFSET_MS + 0.5);
    expect(Math.abs(offsetMs() - OFFSET_MS)).toBe(1);
    read(3_000, 0.5, 0.5, OFFSET_MS + 0.25);
    expect(offsetMs()).toBe(OFFSET_MS + 0.25);
  });

  it('prefers the reading that can be off by the least', () => {
    read(1_000, 1, 1);
    read(2_000, 30, 0);
    expect(offsetMs()).toBe(OFFSET_MS);
    read(3_000, 0, 30);
    expect(offsetMs()).toBe(OFFSET_MS);
    read(4_000, 0.5, 0.5, OFFSET_MS + 0.25);
    expect(offsetMs()).toBe(OFFSET_MS + 0.25);
  });

  it('trusts an old reading less with every second', () => {
    read(0, 1, 1);
    // 100 ppm in a quarter of an hour are 90 ms.
    read(900_000, 5, 5, OFFSET_MS + 30);
    expect(offsetMs()).toBe(OFFSET_MS + 30);
    expect(jumps).toEqual([]);
  });

  it('follows at once when the clock jumps, and says so', () => {
    for (let n = 0; n < 5; n += 1) read(n * 1_000, 1, 1);
    read(6_000, 20, 20, OFFSET_MS - 3_600_000);
    expect(jumps).toEqual([-3_600_000]);
    expect(offsetMs()).toBe(OFFSET_MS - 3_600_000);
    read(7_000, 1, 1, OFFSET_MS - 3_600_000);
    expect(jumps).toHaveLength(1);
  });

  it('takes a slow answer for no jump', () => {
    read(1_000, 1, 1);
    read(2_000, 4_000, 0);
    read(7_000, 0, 4_000);
    expect(jumps).toEqual([]);
    expect(offsetMs()).toBe(OFFSET_MS);
  });

  it('knows no time before the first reading', () => {
    expect(() => clock.nowMs()).toThrow(/not read yet/);
  });
});
