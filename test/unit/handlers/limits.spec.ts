import { describe, expect, it } from '@jest/globals';
import { limitsOf } from '../../../src/delay-queue/handlers/limits.js';

/** The most that may begin within any time `per`: what a full bucket holds, and what it gets meanwhile. */
function mostWithin({ max, per }: { max: number; per: number }): number {
  const { all } = limitsOf({ rateLimit: { max, per } }, undefined) ?? {};
  const { burst = 0, refillPerMs = 0 } = all ?? {};
  // One by one, the last of them begins when `per` is over.
  return burst === 1 ? refillPerMs * per : burst + refillPerMs * per;
}

describe('limitsOf', () => {
  it('is none when nothing is said', () => {
    expect(limitsOf(undefined, undefined)).toBeNull();
  });

  it.each([1, 2, 24, 25, 49, 50, 99, 100, 1_000, 100_000])('lets %d begin, and no more', (max) => {
    expect(mostWithin({ max, per: 1_000 })).toBeCloseTo(max, 6);
    const { all } = limitsOf({ rateLimit: { max, per: '1m' } }, undefined) ?? {};
    expect((all?.refillPerMs ?? 0) * 60_000).toBeGreaterThanOrEqual(max * 0.96);
  });

  it('has nothing to say of what was left out', () => {
    const none = { concurrency: 0, burst: 0, refillPerMs: 0 };
    expect(limitsOf({ concurrency: 5 }, undefined)).toEqual({
      all: { ...none, concurrency: 5 },
      perGroup: none,
    });
  });

  it.each<[unknown, string]>([
    [{}, 'global'],
    [7, 'global'],
    [{ concurrency: 0 }, 'global.concurrency'],
    [{ concurrency: 10_001 }, 'global.concurrency'],
    [{ rateLimit: { max: 1 } }, 'global.rateLimit.per'],
    [{ rateLimit: { max: 1.5, per: '1s' } }, 'global.rateLimit.max'],
    [{ rateLimit: { max: 1, per: '2d' } }, 'global.rateLimit.per'],
    [{ rateLimit: { max: 1, per: 99 } }, 'global.rateLimit.per'],
    [{ rateLimit: 7 }, 'global.rateLimit'],
    [{ concurency: 1 }, 'global.concurency'],
  ])('%j is refused', (limits, field) => {
    expect(() => limitsOf(limits, undefined)).toThrow(expect.objectContaining({ field }));
  });
});
