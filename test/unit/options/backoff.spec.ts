import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import {
  BACKOFF_DEFAULT,
  backoffMs,
  functionPolicy,
  parseBackoff,
} from '../../../src/delay-queue/options/backoff.js';

describe('backoffMs', () => {
  it('grows by the factor to the maximum, shortened by the jitter', () => {
    expect(pausesMs(0)).toEqual([1_000, 2_000, 4_000, 300_000]);
    expect(pausesMs(1)).toEqual([800, 1_600, 3_200, 240_000]);
  });

  it('is whole milliseconds from 0 to the maximum, whatever the options', () => {
    const backoff = fc.record({
      baseMs: fc.nat(10_000),
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      maxMs: fc.integer({ min: 10_000, max: 3_155_760_000_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(backoff, fc.integer({ min: 1, max: 1_000 }), random, (options, attempt, r) => {
        const waitMs = backoffMs(options, attempt, () => r);
        expect(Number.isSafeInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(options.maxMs);
      }),
    );
  });
});

describe('parseBackoff', () => {
  it('takes what is left out from the defaults', () => {
    expect(parseBackoff({}, BACKOFF_DEFAULT)).toEqual(BACKOFF_DEFAULT);
    expect(parseBackoff({ base: '2s', jitter: 1 }, BACKOFF_DEFAULT)).toEqual({
      baseMs: 2_000,
      factor: 2,
      maxMs: 300_000,
      jitter: 1,
    });
  });

  it.each([null, 5, [], { factor: '2' }, { jitter: 1.1 }, { base: '1h' }, { delay: '1s' }])(
    'refuses %j',
    (backoff) => {
      expect(() => parseBackoff(backoff, BACKOFF_DEFAULT)).toThrow(DelayInvalidError);
    },
  );
});

describe('functionPolicy', () => {
  it('asks the function, with the attempt', () => {
    const faults: unknown[] = [];
    const policy = functionPolicy(
      (attempt) => `${attempt}m`,
      () => -1,
      (fault) => faults.push(fault),
    );
    expect([policy(1), policy(3)]).toEqual([60_000, 180_000]);
    expect(faults).toEqual([]);
  });

  it.each<[string, () => any]>([
    ['throws', thrower],
    ['answers NaN', () => NaN],
    ['answers a negative number', () => -5],
    ['answers nothing', () => undefined],
    ['answers a promise', () => Promise.resolve(5)],
    ['answers a text that is no duration', () => 'later'],
  ])('a function that %s is reported, and the fallback takes its place', (_what, broken) => {
    const faults: unknown[] = [];
    const policy = functionPolicy(
      broken,
      (attempt) => attempt * 7,
      (fault) => faults.push(fault),
    );
    expect(policy(2)).toBe(14);
    expect(faults).toHaveLength(1);
  });
});

function thrower(): never {
  throw new Error('broken');
}

function pausesMs(random: number): number[] {
  return [1, 2, 3, 10].map((attempt) => backoffMs(BACKOFF_DEFAULT, attempt, () => random));
}
