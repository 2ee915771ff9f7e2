import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import {
  DURATION_MS_MAX,
  parseDurationBetween,
  parseDurationMs,
} from '../../../src/delay-queue/validation/duration.js';

/** What is refused stands in `test/hostile/corpus/times.ts`. */
describe('parseDurationMs', () => {
  it.each<[unknown, number]>([
    [0, 0],
    [-0, 0],
    [250, 250],
    [2 ** 31, 2_147_483_648],
    ['0', 0],
    ['-0', 0],
    ['250', 250],
    ['250ms', 250],
    ['1.5s', 1_500],
    ['.5s', 500],
    ['90 s', 90_000],
    ['30m', 1_800_000],
    ['30M', 1_800_000],
    ['48h', 172_800_000],
    ['14d', 1_209_600_000],
    ['2 weeks', 1_209_600_000],
    ['100y', DURATION_MS_MAX],
    [DURATION_MS_MAX, DURATION_MS_MAX],
  ])('reads %p as %p ms', (value, expectedMs) => {
    expect(parseDurationMs(value, 'after')).toBe(expectedMs);
  });

  it.each<[unknown, number]>([
    [0.2, 1],
    [1_000.5, 1_001],
    ['0.1ms', 1],
  ])('rounds %p up to %p ms, so that nothing is early', (value, expectedMs) => {
    expect(parseDurationMs(value, 'after')).toBe(expectedMs);
  });

  it.each<[unknown, number]>([
    ['1.1h', 3_960_000],
    ['2.3m', 138_000],
    [1.1 * 3_600_000, 3_960_000],
    [0.1 + 0.2 - 0.3, 1],
  ])('does not turn the binary noise of %p into a millisecond', (value, expectedMs) => {
    expect(parseDurationMs(value, 'after')).toBe(expectedMs);
  });

  it('says what would be right', () => {
    expect(() => parseDurationMs('30x', 'lease')).toThrow(
      `lease: must be milliseconds or a text like '90s', '30m', '48h' or '14d', not "30x"`,
    );
  });

  it('answers whole milliseconds within the limits, or a typed error, for anything', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.double(), fc.string()), (value) => {
        const valueMs = outcomeOf(() => parseDurationMs(value, 'after'));
        const isTypedError = valueMs instanceof DelayInvalidError;
        const isWholeMs =
          Number.isSafeInteger(valueMs) &&
          Number(valueMs) >= 0 &&
          Number(valueMs) <= DURATION_MS_MAX;
        expect(isTypedError || isWholeMs).toBe(true);
      }),
    );
  });

  it('never too short, and at most a millisecond too long', () => {
    const number = fc.oneof(
      fc.double({ min: 0, max: DURATION_MS_MAX, noNaN: true }),
      fc.double({ min: 0, max: 10, noNaN: true }),
    );
    fc.assert(
      fc.property(number, (value) => {
        const noise = value * 1e-14;
        const read = parseDurationMs(value, 'after');
        expect(read).toBeGreaterThanOrEqual(value - noise);
        expect(read).toBeLessThanOrEqual(value + 1 + noise);
        expect(parseDurationMs(`${read}ms`, 'after')).toBe(read);
      }),
      { numRuns: 2_000 },
    );
  });

  it('a decimal text with a unit is its exact product, rounded up', () => {
    const units = { ms: 1n, s: 1_000n, m: 60_000n, h: 3_600_000n, d: 86_400_000n, w: 604_800_000n };
    const unit = fc.constantFrom(...Object.entries(units));
    fc.assert(
      fc.property(fc.nat(5_000), fc.stringMatching(/^\d{1,4}$/), unit, (whole, fraction, of) => {
        const [name, unitMs] = of;
        const scale = 10n ** BigInt(fraction.length);
        const exact = (BigInt(whole) * scale + BigInt(fraction)) * unitMs;
        const roundedUp = Number((exact + scale - 1n) / scale);
        expect(parseDurationMs(`${whole}.${fraction}${name}`, 'after')).toBe(roundedUp);
        expect(parseDurationMs(`${whole}.${fraction} ${name.toUpperCase()}`, 'after')).toBe(
          roundedUp,
        );
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('parseDurationBetween', () => {
  it('includes both bounds and speaks in their terms', () => {
    expect(leaseMs('1s')).toBe(1_000);
    expect(leaseMs('60m')).toBe(3_600_000);
    expect(() => leaseMs(999)).toThrow('lease: must be from 1s to 1h, not 999');
    expect(() => leaseMs('61m')).toThrow('lease: must be from 1s to 1h, not "61m"');
  });
});

function outcomeOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

function leaseMs(value: unknown): number {
  return parseDurationBetween(value, 'lease', '1s', '1h');
}
