import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  NO_INDEX,
  NO_TIMER,
  TimingWheel,
} from '../../../src/delay-queue/core/timer-wheel/timing-wheel.js';
import { type Geometry, WheelBesideList } from './wheel-beside-list.js';

/** Advances until nothing is due; the indexes in the order in which they fired. */
function drain(wheel: TimingWheel, nowMs: number): number[] {
  const expired = new Int32Array(64);
  const indexes: number[] = [];
  do {
    const count = wheel.advance(nowMs, expired);
    indexes.push(...expired.subarray(0, count));
  } while (wheel.size > 0 && wheel.nextExpiry() <= nowMs);
  return indexes;
}

/** Where levels meet, where 32-bit arithmetic breaks, and beyond the reach. */
const edges = fc
  .tuple(
    fc.constantFrom(0, 1, 2, 1023, 2 ** 10, 2 ** 11, 2 ** 20, 2 ** 30, 2 ** 31, 2 ** 32, 2 ** 40),
    fc.integer({ min: 1, max: 3 }),
    fc.constantFrom(-1, -0.5, 0, 0.25, 1),
  )
  .map(([edge, times, aside]) => edge * times + aside);

const distances = fc.oneof(
  { weight: 4, arbitrary: fc.double({ min: -20, max: 3_000, noNaN: true }) },
  { weight: 2, arbitrary: edges },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 42 }).map((bits) => 2 ** bits) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 42 }) },
);

const step = fc.oneof(
  {
    weight: 6,
    // Counted from now, or from the origin: the edges of the slots stand still.
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      from: fc.constantFrom('now' as const, 'origin' as const),
      ms: distances,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat(), ms: fc.nat(1) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('move' as const), which: fc.nat(), ms: distances }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('evict' as const), ms: distances }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: distances }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const geometry: fc.Arbitrary<Geometry> = fc.record({
  capacity: fc.constantFrom(1, 3, 20, 5_000),
  originMs: fc.constantFrom(0, 1_234.5, -7, 2 ** 40 - 500, 1.8e12),
  ticksPerMs: fc.constantFrom(1, 4),
  cascadeLimit: fc.constantFrom(1, 2, 4_096),
  limit: fc.constantFrom(1, 2, 1_024),
});

function act(pair: WheelBesideList, next: Step): void {
  const { nowMs, handles } = pair;
  if (next.do === 'add') pair.add((next.from === 'now' ? nowMs : pair.geometry.originMs) + next.ms);
  else if (next.do === 'advance') pair.advance(nowMs + next.ms);
  else if (next.do === 'evict') pair.evictFarthest(nowMs + next.ms);
  else if (handles.length === 0) return;
  else if (next.do === 'cancel') pair.cancel(next.which % handles.length);
  else pair.move(next.which % handles.length, nowMs + next.ms);
}

describe('by example', () => {
  describe('faults of other designs: here a timer is exact', () => {
    it.each([
      ['a ring of 3,600 seconds with cycle counts, a lap too early', 3_610_000],
      ['a minute wheel above a second wheel, past 60 minutes', 61 * 60_000],
      ['timer-wheel on npm, which loses some', 1_500],
      ['setTimeout, at once', 2 ** 31],
      ['a counter of 32 bits', 2 ** 32 + 5],
    ])('%s: %d ms', (_, deadlineMs) => {
      for (const startMs of [0, 1_023, 58_999, 2 ** 31 - 1]) {
        const wheel = new TimingWheel({ capacity: 4 });
        wheel.advance(startMs, new Int32Array(1));
        const handle = wheel.add(startMs + deadlineMs);
        // Looks again and again within the same millisecond, as a busy loop does.
        for (let look = 0; look < 10; look++) expect(drain(wheel, startMs + 10)).toEqual([]);
        expect(drain(wheel, startMs + deadlineMs - 1)).toEqual([]);
        expect(drain(wheel, startMs + deadlineMs)).toEqual([wheel.indexOf(handle)]);
      }
    });

    it('a slot counted from its start, a tick late: each of the first seconds', () => {
      const wheel = new TimingWheel({ capacity: 3_000 });
      const timers = Array.from({ length: 2_500 }, (_, ms) => wheel.indexOf(wheel.add(ms)));
      expect(timers.map((_, ms) => drain(wheel, ms))).toEqual(timers.map((timer) => [timer]));
    });
  });
  describe('a deadline', () => {
    it('of Infinity waits, and can be cancelled', () => {
      const wheel = new TimingWheel({ capacity: 4 });
      const handle = wheel.add(Infinity);
      for (let time = 2 ** 35; time < 2 ** 45; time *= 2) expect(drain(wheel, time)).toEqual([]);
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
  it('time that goes far back, or is none, does nothing, and it may jump to its end', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    drain(wheel, 10_000);
    wheel.add(9_000);
    for (const nowMs of [9_999, -Infinity, NaN]) {
      expect(wheel.advance(nowMs, new Int32Array(4))).toBe(0);
    }
    wheel.add(1e300);
    expect(drain(wheel, Infinity)).toHaveLength(2);
    wheel.add(5);
    expect(drain(wheel, Infinity)).toHaveLength(1);
  });
  describe('a handle', () => {
    it.each([NO_TIMER, 50, -1, 0.5, 2 ** 24 + 0.5, NaN, Infinity, 2 ** 53 - 1, 3 * 2 ** 24 + 5])(
      'nobody was given is refused: %d',
      (forged) => {
        const wheel = new TimingWheel({ capacity: 100 });
        wheel.add(5);
        expect([wheel.cancel(forged), wheel.move(forged, 1)]).toEqual([false, false]);
        expect(wheel.size).toBe(1);
      },
    );

    it('is told from those of the same record before, upside down too', () => {
      const wheel = new TimingWheel({ capacity: 1 });
      const stale: number[] = [];
      for (let use = 0; use < 100; use++) {
        const handle = wheel.add(use);
        const others = [...stale, -handle];
        expect(others.filter((old) => wheel.cancel(old) || wheel.move(old, 0))).toEqual([]);
        expect(wheel.cancel(handle)).toBe(true);
        stale.push(handle);
      }
    });
  });
  describe('room', () => {
    it('grows to its capacity and no further, keeping what it holds', () => {
      const wheel = new TimingWheel({ capacity: 100_000 });
      for (let at = 0; at < 65_536; at++) wheel.add(at);
      expect(wheel.allocated).toBe(65_536);
      expect(wheel.indexOf(wheel.add(65_536))).toBe(65_536);
      expect(wheel.allocated).toBe(100_000);
      expect(drain(wheel, 65_536)).toEqual(Array.from({ length: 65_537 }, (_, at) => at));
    });

    it('is bounded by the most that waited at once, however many come and go', () => {
      const wheel = new TimingWheel({ capacity: 1_000_000 });
      const handles = Array.from({ length: 1_000 }, (_, at) => wheel.add(at * 600));
      for (let at = 0; at < 20_000; at++) {
        const which = (at * 7_919) % handles.length;
        if (!wheel.cancel(handles[which]!)) throw new Error('a handle went stale');
        handles[which] = wheel.add((at * 31) % 600_000);
      }
      expect([wheel.size, wheel.allocated]).toEqual([1_000, 1_024]);
    });

    it.each([0, -1, 1.5, NaN, 2 ** 24 + 1])('cannot be for %d', (capacity) => {
      expect(() => new TimingWheel({ capacity })).toThrow(RangeError);
    });
  });
  describe('the farthest', () => {
    const far = [
      7,
      1_500,
      2 ** 20 + 3,
      5 * 2 ** 30 + 3,
      2 ** 39 + 2 ** 33 + 9,
      2 ** 40 + 1,
      2 ** 45,
    ];

    it.each(far)('of one timer %d ms ahead is told by its whole deadline', (aheadMs) => {
      for (const nowMs of [0, 3 * 2 ** 32 + 77]) {
        const wheel = new TimingWheel({ capacity: 1 });
        wheel.advance(nowMs, new Int32Array(1));
        const index = wheel.indexOf(wheel.add(nowMs + aheadMs));
        expect(wheel.evictFarthest(nowMs + aheadMs)).toBe(NO_INDEX);
        expect(wheel.evictFarthest(nowMs + aheadMs - 0.5)).toBe(NO_INDEX);
        expect(wheel.evictFarthest(nowMs + aheadMs - 1)).toBe(index);
      }
    });

    it.each([1_500, 2 ** 41])('amid a spread before %d is told so, too', (slotMs) => {
      const wheel = new TimingWheel({ capacity: 3, cascadeLimit: 1 });
      for (const ms of [5, 6, 7]) wheel.add(slotMs + ms);
      wheel.advance(slotMs === 1_500 ? 1_024 : 2 ** 40, new Int32Array(1));
      expect(wheel.evictFarthest(slotMs + 7)).toBe(NO_INDEX);
      expect(wheel.evictFarthest(slotMs + 6)).toBe(2);
    });
  });
  describe('a bounded advance', () => {
    it.each([
      [2 ** 40, 2 ** 40 + 5_000],
      [2 ** 40, 3 * 2 ** 40],
    ])(
      'keeps the order of one ms when a timer is added amid a spread at %d',
      (nowMs, deadlineMs) => {
        const wheel = new TimingWheel({ capacity: 20, cascadeLimit: 1 });
        const handles = [1, 2, 3].map(() => wheel.add(deadlineMs));
        wheel.advance(nowMs, new Int32Array(1));
        handles.push(wheel.add(deadlineMs));
        expect(drain(wheel, deadlineMs)).toEqual(handles.map((handle) => wheel.indexOf(handle)));
      },
    );

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
      expect(drain(wheel, 2 ** 41)).toEqual([wheel.indexOf(later)]);
    });
  });
});

describe('by properties', () => {
  describe('a timing wheel beside a sorted list', () => {
    it('fires the same timers in the same order, whatever happens in between', () => {
      fc.assert(
        fc.property(geometry, fc.array(step, { maxLength: 80 }), (shape, steps) => {
          const pair = new WheelBesideList(shape);
          for (const next of steps) {
            act(pair, next);
            pair.check();
            pair.checkAhead();
          }
          pair.advance(pair.nowMs + 2 ** 43);
          expect(pair.wheel.size).toBe(0);
        }),
        { numRuns: 700 },
      );
    });

    it('loses nothing when timers come, go and move between the pieces of one advance', () => {
      fc.assert(
        fc.property(geometry, fc.array(step, { maxLength: 80 }), (shape, steps) => {
          const pair = new WheelBesideList({ ...shape, limit: Math.min(shape.limit, 2) });
          for (const next of steps) {
            if (next.do === 'advance') pair.step(pair.nowMs + Math.max(0, next.ms));
            // How far the advance has got is the wheel's secret, so no saying which is farthest.
            else if (next.do !== 'evict') act(pair, next);
            pair.check();
          }
          for (let left = 1_000; !pair.caughtUp && left > 0; left--) pair.step(pair.nowMs);
          pair.advance(pair.nowMs + 2 ** 43);
          expect(pair.wheel.size).toBe(0);
          const inTime = pair.fired.filter(({ wasPast }) => !wasPast);
          expect(inTime).toEqual(
            inTime.toSorted((a, b) => a.tickMs - b.tickMs || a.order - b.order),
          );
        }),
        { numRuns: 500 },
      );
    });

    it('keeps the order in slots that hold many, most of them cancelled and added again', () => {
      const crowd = fc.record({
        spanMs: fc.constantFrom(3, 3_000, 2 ** 21),
        cancelled: fc.constantFrom(0.5, 0.9, 0.99),
        seed: fc.integer(),
      });
      fc.assert(
        fc.property(geometry, crowd, (shape, { spanMs, cancelled, seed }) => {
          const pair = new WheelBesideList({ ...shape, capacity: 5_000 });
          const random = fc.sample(fc.double({ min: 0, max: 1, noNaN: true }), {
            seed,
            numRuns: 600,
          });
          for (let lap = 0; lap < 3; lap++) {
            for (const part of random) pair.add(pair.nowMs + part * spanMs);
            const ids = pair.handles.map((_, id) => id);
            for (const [at, part] of random.entries())
              if (part < cancelled) pair.cancel(ids[(at * 7 + lap) % ids.length]!);
            pair.check();
            pair.advance(pair.nowMs + spanMs / 3);
          }
          pair.advance(pair.nowMs + 2 ** 43);
          expect(pair.wheel.size).toBe(0);
        }),
        { numRuns: 12 },
      );
    });

    it('moves no more than its limit in one advance, whatever comes and goes in between', () => {
      const crowd = fc.record({
        timers: fc.integer({ min: 1, max: 500 }),
        cascadeLimit: fc.integer({ min: 2, max: 50 }),
        limit: fc.integer({ min: 1, max: 50 }),
        salt: fc.nat(),
      });
      fc.assert(
        fc.property(crowd, ({ timers, cascadeLimit, limit, salt }) => {
          const pair = new WheelBesideList({ capacity: 2_000, originMs: 0, cascadeLimit, limit });
          const slotMs = () => 1_024 + ((pair.handles.length * 7_919 + salt) % 1_024);
          for (let at = 0; at < timers; at++) pair.add(slotMs());
          let advances = 0;
          // All stand in one slot of the second level: none fires before all have moved.
          while (pair.fired.length === 0) {
            pair.step(3_000);
            advances++;
            pair.cancel((advances * 31 + salt) % pair.handles.length);
            pair.add(slotMs());
            pair.check();
          }
          expect(advances).toBeGreaterThanOrEqual(Math.ceil(timers / cascadeLimit));
          // One joined for each advance, so that each comes nearer by one less.
          expect(advances).toBeLessThanOrEqual(Math.ceil(timers / (cascadeLimit - 1)) + 1);
          while (pair.wheel.size > 0) pair.step(3_000);
        }),
        { numRuns: 100 },
      );
    });

    it('keeps what lies beyond its reach while it grows', () => {
      const pair = new WheelBesideList({
        capacity: 5_000,
        originMs: 0,
        cascadeLimit: 10,
        limit: 1_024,
      });
      const add = (at: number): void =>
        pair.add(at % 3 === 0 ? at : (1 + (at % 5)) * 2 ** 40 + ((at * 7_919) % 4_000));
      for (let at = 0; at < 900; at++) add(at);
      // In the middle of a spread.
      pair.step(2 ** 10 + 1);
      for (let at = 0; at < 4_000; at++) add(at);
      for (let id = 0; id < 4_000; id += 7) pair.move(id, 2 ** 41 + id);
      for (const deadlineMs of [5_000, 2 ** 41, 2 ** 41 + 5_000, 2 ** 43]) pair.advance(deadlineMs);
      expect(pair.wheel.size).toBe(0);
    });
  });
});
