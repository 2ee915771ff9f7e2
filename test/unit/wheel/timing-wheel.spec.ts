import { describe, expect, it } from '@jest/globals';
import { NO_INDEX, NO_TIMER, TimingWheel } from '../../../src/delay-queue/wheel/timing-wheel.js';

const YEAR_MS = 365.25 * 24 * 3_600_000;

/** Advances until nothing is due; the handles' indexes in the order in which they fired. */
function drain(wheel: TimingWheel, nowMs: number): number[] {
  const expired = new Int32Array(64);
  const indexes: number[] = [];
  do {
    const count = wheel.advance(nowMs, expired);
    indexes.push(...expired.subarray(0, count));
  } while (wheel.size > 0 && wheel.nextExpiry() <= nowMs);
  return indexes;
}

describe('a deadline', () => {
  const edges = [1, 2 ** 10, 2 ** 20, 2 ** 30, 2 ** 31, 2 ** 32, 2 ** 40, 3 * 2 ** 40];
  const around = edges.flatMap((edge) => [edge - 1, edge, edge + 1]);

  it.each(around)('at %d ms fires then, not a millisecond before', (deadlineMs) => {
    for (const startMs of [0, 1, 1_023, 1_024, 2 ** 31 - 1]) {
      const wheel = new TimingWheel({ capacity: 4 });
      wheel.advance(startMs, new Int32Array(1));
      const handle = wheel.add(startMs + deadlineMs);
      expect(drain(wheel, startMs + deadlineMs - 1)).toEqual([]);
      expect(wheel.nextExpiry()).toBeGreaterThan(startMs + deadlineMs - 1);
      expect(drain(wheel, startMs + deadlineMs)).toEqual([wheel.indexOf(handle)]);
    }
  });

  it('with a fraction is rounded up, also when the clock has one', () => {
    const wheel = new TimingWheel({ capacity: 4, originMs: 0.9 });
    wheel.add(10.001);
    expect(drain(wheel, 10.999)).toEqual([]);
    expect(wheel.nextExpiry()).toBe(11);
    expect(drain(wheel, 11)).toHaveLength(1);
  });

  it('in the past, or now, fires at the next advance, even at the same time', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    drain(wheel, 5_000);
    const past = wheel.add(-Infinity);
    const now = wheel.add(5_000);
    expect(wheel.nextExpiry()).toBe(5_000);
    expect(drain(wheel, 5_000)).toEqual([wheel.indexOf(past), wheel.indexOf(now)]);
  });

  it('of Infinity waits, and can be cancelled', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    const handle = wheel.add(Infinity);
    for (let years = 1; years < 1_000; years += 17)
      expect(drain(wheel, years * YEAR_MS)).toEqual([]);
    expect(wheel.nextExpiry()).toBeGreaterThan(950 * YEAR_MS);
    expect(wheel.cancel(handle)).toBe(true);
    expect(wheel.nextExpiry()).toBe(Infinity);
  });

  it('that is NaN is refused, and takes no room', () => {
    const wheel = new TimingWheel({ capacity: 1 });
    expect(() => wheel.add(NaN)).toThrow(RangeError);
    const handle = wheel.add(1);
    expect(() => wheel.move(handle, NaN)).toThrow(RangeError);
    expect(drain(wheel, 1)).toHaveLength(1);
  });
});

describe('time', () => {
  it('that goes backwards does nothing', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    drain(wheel, 10_000);
    wheel.add(9_000);
    wheel.add(10_500);
    expect(drain(wheel, 9_999)).toEqual([]);
    expect(wheel.advance(-Infinity, new Int32Array(4))).toBe(0);
    expect(wheel.advance(NaN, new Int32Array(4))).toBe(0);
    expect(wheel.size).toBe(2);
    expect(drain(wheel, 10_500)).toHaveLength(2);
  });

  it('may jump to its end', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    wheel.add(1);
    wheel.add(1e300);
    expect(drain(wheel, Infinity)).toHaveLength(2);
    wheel.add(5);
    expect(drain(wheel, Infinity)).toHaveLength(1);
  });
});

describe('a handle', () => {
  it('is good once: cancelling and firing use it up', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    const cancelled = wheel.add(5);
    expect(wheel.cancel(cancelled)).toBe(true);
    expect(wheel.cancel(cancelled)).toBe(false);
    const fired = wheel.add(5);
    expect(wheel.indexOf(fired)).toBe(wheel.indexOf(cancelled));
    expect(wheel.cancel(cancelled)).toBe(false);
    expect(wheel.move(cancelled, 1)).toBe(false);
    drain(wheel, 5);
    expect(wheel.cancel(fired)).toBe(false);
    expect(wheel.move(fired, 9)).toBe(false);
    expect(wheel.size).toBe(0);
  });

  it('survives any number of moves', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    const handle = wheel.add(5);
    for (const deadlineMs of [2 ** 35, 7, 7, 2 ** 12]) {
      expect(wheel.move(handle, deadlineMs)).toBe(true);
    }
    expect(drain(wheel, 2 ** 12 - 1)).toEqual([]);
    expect(drain(wheel, 2 ** 12)).toEqual([wheel.indexOf(handle)]);
  });

  it.each([NO_TIMER, 50, -1, 0.5, 2 ** 24 + 0.5, NaN, Infinity, 2 ** 53 - 1, 3 * 2 ** 24 + 5])(
    'nobody was given is refused: %d',
    (forged) => {
      const wheel = new TimingWheel({ capacity: 100 });
      wheel.add(5);
      expect(wheel.cancel(forged)).toBe(false);
      expect(wheel.move(forged, 1)).toBe(false);
      expect(wheel.size).toBe(1);
    },
  );
});

describe('a full wheel', () => {
  it('answers NO_TIMER and has room again after a cancel or an expiry', () => {
    const wheel = new TimingWheel({ capacity: 2 });
    const first = wheel.add(1);
    wheel.add(2);
    expect(wheel.add(3)).toBe(NO_TIMER);
    expect(wheel.cancel(first)).toBe(true);
    expect(wheel.add(3)).not.toBe(NO_TIMER);
    drain(wheel, 2);
    expect(wheel.add(4)).not.toBe(NO_TIMER);
    expect(wheel.add(4)).toBe(NO_TIMER);
    expect(drain(wheel, 4)).toHaveLength(2);
  });

  it('gives up the farthest, but only for a nearer one', () => {
    const wheel = new TimingWheel({ capacity: 3 });
    const near = wheel.add(10);
    const far = wheel.add(500_000);
    const never = wheel.add(50 * YEAR_MS);
    expect(wheel.evictFarthest(50 * YEAR_MS)).toBe(NO_INDEX);
    expect(wheel.evictFarthest(20)).toBe(wheel.indexOf(never));
    expect(wheel.evictFarthest(20)).toBe(wheel.indexOf(far));
    expect(wheel.evictFarthest(20)).toBe(NO_INDEX);
    expect(wheel.evictFarthest(9)).toBe(wheel.indexOf(near));
    expect(wheel.evictFarthest(-Infinity)).toBe(NO_INDEX);
    expect(wheel.size).toBe(0);
  });

  it('grows to its capacity and no further, keeping what it holds', () => {
    const wheel = new TimingWheel({ capacity: 5_000 });
    for (let at = 0; at < 5_000; at++) expect(wheel.indexOf(wheel.add(at % 3_001))).toBe(at);
    expect(wheel.add(1)).toBe(NO_TIMER);
    expect(wheel.allocated).toBe(5_000);
    const fired = drain(wheel, 3_001);
    expect(fired).toHaveLength(5_000);
    expect(new Set(fired).size).toBe(5_000);
  });

  it('keeps 65,536 timers when it grows for one more', () => {
    const wheel = new TimingWheel({ capacity: 100_000 });
    for (let at = 0; at < 65_536; at++) wheel.add(at);
    expect(wheel.allocated).toBe(65_536);
    const last = wheel.add(65_536);
    expect(wheel.indexOf(last)).toBe(65_536);
    expect(wheel.allocated).toBe(100_000);
    expect(drain(wheel, 65_536)).toEqual(Array.from({ length: 65_537 }, (_, at) => at));
  });

  it.each([0, -1, 1.5, NaN, 2 ** 24 + 1])('cannot be made with room for %d', (capacity) => {
    expect(() => new TimingWheel({ capacity })).toThrow(RangeError);
  });
});

describe('a bounded advance', () => {
  it('fires no more than it has room for, and the rest in order later', () => {
    const wheel = new TimingWheel({ capacity: 100 });
    const indexes = Array.from({ length: 100 }, (_, at) =>
      wheel.indexOf(wheel.add(at < 50 ? 7 : 8)),
    );
    const expired = new Int32Array(30);
    const fired: number[] = [];
    while (wheel.nextExpiry() <= 9) {
      const count = wheel.advance(9, expired);
      expect(count).toBeLessThanOrEqual(30);
      fired.push(...expired.subarray(0, count));
    }
    expect(fired).toEqual(indexes);
  });

  it('never writes behind the end of the array it was given', () => {
    const wheel = new TimingWheel({ capacity: 10 });
    for (let at = 0; at < 10; at++) wheel.add(1);
    expect(wheel.advance(1, new Int32Array(4))).toBe(4);
    expect(wheel.size).toBe(6);
    expect(wheel.advance(1, new Int32Array(0))).toBe(0);
    expect(wheel.size).toBe(6);
  });

  it('spreads a full slot in pieces, and fires nothing of it before all of it is spread', () => {
    const wheel = new TimingWheel({ capacity: 1_000, cascadeLimit: 100 });
    for (let at = 0; at < 1_000; at++) wheel.add(2_047 - at);
    const expired = new Int32Array(1_000);
    for (let piece = 0; piece < 9; piece++) {
      expect(wheel.advance(5_000, expired)).toBe(0);
      expect(wheel.nextExpiry()).toBeLessThanOrEqual(1_048);
    }
    expect(wheel.advance(5_000, expired)).toBe(1_000);
    expect([...expired]).toEqual(Array.from({ length: 1_000 }, (_, at) => 999 - at));
  });

  it('goes on when all that it was spreading is cancelled', () => {
    const wheel = new TimingWheel({ capacity: 20, cascadeLimit: 1 });
    const handles = Array.from({ length: 10 }, (_, at) => wheel.add(2_000 + at));
    const later = wheel.add(2 ** 41);
    wheel.advance(2_000, new Int32Array(1));
    for (const handle of handles) expect(wheel.cancel(handle)).toBe(true);
    const soon = wheel.add(2_047);
    expect(drain(wheel, 2_046)).toEqual([]);
    expect(drain(wheel, 2_047)).toEqual([wheel.indexOf(soon)]);
    expect(wheel.nextExpiry()).toBe(2 ** 40);
    expect(drain(wheel, 2 ** 41 - 1)).toEqual([]);
    expect(drain(wheel, 2 ** 41)).toEqual([wheel.indexOf(later)]);
  });

  it.each([
    [1_500, 2_000],
    [2 ** 30, 2 ** 30 + 5_000],
    [2 ** 40, 2 ** 40 + 5_000],
    [2 ** 40, 3 * 2 ** 40],
  ])('keeps the order of one ms when a timer is added amid a spread at %d', (nowMs, deadlineMs) => {
    const wheel = new TimingWheel({ capacity: 20, cascadeLimit: 1 });
    const handles = [1, 2, 3].map(() => wheel.add(deadlineMs));
    wheel.advance(nowMs, new Int32Array(1));
    handles.push(wheel.add(deadlineMs));
    expect(drain(wheel, deadlineMs)).toEqual(handles.map((handle) => wheel.indexOf(handle)));
  });

  it('evicts the farthest in the middle of a spread, too', () => {
    const wheel = new TimingWheel({ capacity: 20, cascadeLimit: 1 });
    for (let at = 0; at < 5; at++) wheel.add(2_000 + at);
    wheel.advance(1_500, new Int32Array(1));
    expect(wheel.evictFarthest(-Infinity)).toBe(4);
    expect(drain(wheel, 3_000)).toEqual([0, 1, 2, 3]);
  });
});
