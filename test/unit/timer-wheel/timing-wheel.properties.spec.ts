import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Geometry, WheelBesideList } from './wheel-beside-list.js';

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
        expect(inTime).toEqual(inTime.toSorted((a, b) => a.tickMs - b.tickMs || a.order - b.order));
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
