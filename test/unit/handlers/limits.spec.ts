import { describe, expect, it } from '@jest/globals';
import { limitsOf } from '../../../src/delay-queue/handlers/handler.registry.js';

describe('limits of a handler', () => {
  it('are none of what is not said', () => {
    expect(limitsOf(undefined, undefined)).toBeNull();
    const none = { concurrency: 0, burst: 0, refillPerMs: 0 };
    const all = { ...none, concurrency: 5 };
    expect(limitsOf({ concurrency: 5 }, undefined)).toEqual({ all, perGroup: none });
  });

  it.each([1, 2, 24, 25, 49, 50, 100, 100_000])('let %d begin, and hardly fewer', (max) => {
    const { all } = limitsOf({ rateLimit: { max, per: '1m' } }, undefined)!;
    const refilled = all.refillPerMs * 60_000;
    // What a full bucket holds, and what it gets meanwhile; one by one, the last begins when the minute is over.
    expect(all.burst === 1 ? refilled : all.burst + refilled).toBeCloseTo(max, 6);
    expect(refilled).toBeGreaterThanOrEqual(max * 0.96);
  });

  /** Those of another type are in `test/hostile/wrong-options.spec.ts`. */
  it.each<[unknown, string]>([
    [{}, 'global'],
    [{ concurrency: 10_001 }, 'global.concurrency'],
    [{ rateLimit: { max: 100_001, per: '1s' } }, 'global.rateLimit.max'],
    [{ rateLimit: { max: 1, per: '2d' } }, 'global.rateLimit.per'],
    [{ rateLimit: { max: 1, per: 99 } }, 'global.rateLimit.per'],
  ])('%j are refused', (limits, field) => {
    expect(() => limitsOf(limits, undefined)).toThrow(expect.objectContaining({ field }));
  });
});
