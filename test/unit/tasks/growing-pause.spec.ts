import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Growth, pauseMs } from '../../../src/delay-queue/tasks/growing-pause.js';

const doubling: Growth = { firstMs: 100, factor: 2, lastMs: 1_000, jitter: 0.5 };

const growths: fc.Arbitrary<Growth> = fc.record({
  firstMs: fc.integer({ min: 1, max: 10_000 }),
  factor: fc.double({ min: 1, max: 100, noNaN: true }),
  lastMs: fc.integer({ min: 10_000, max: 10_000_000 }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
});
const times = fc.integer({ min: 1, max: 100_000 });
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

const fullMs = (growth: Growth, time: number): number => pauseMs(growth, time, () => 0);

describe('pauseMs', () => {
  it('begins with the first and grows until the last', () => {
    expect([1, 2, 3, 4, 5, 100_000].map((time) => fullMs(doubling, time))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
    fc.assert(
      fc.property(growths, times, (growth, time) => {
        expect(fullMs(growth, 1)).toBe(growth.firstMs);
        expect(fullMs(growth, time + 1)).toBeGreaterThanOrEqual(fullMs(growth, time));
      }),
    );
  });

  it('is never above the last, and cut by no more than its random share', () => {
    fc.assert(
      fc.property(growths, times, randoms, (growth, time, random) => {
        const waitMs = pauseMs(growth, time, () => random);
        const longestMs = fullMs(growth, time);
        expect(longestMs).toBeLessThanOrEqual(growth.lastMs);
        expect(waitMs).toBeLessThanOrEqual(longestMs);
        expect(waitMs).toBeGreaterThanOrEqual(longestMs * (1 - growth.jitter));
      }),
    );
  });

  it('stays at zero when it begins there', () => {
    fc.assert(
      fc.property(growths, times, (growth, time) => {
        expect(pauseMs({ ...growth, firstMs: 0 }, time)).toBe(0);
      }),
    );
  });
});
