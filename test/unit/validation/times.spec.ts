import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  DURATION_MS_MAX,
  parseDurationBetween,
  parseDurationMs,
} from '../../../src/delay-queue/validation/duration.js';
import { runInNewContext } from 'node:vm';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import { parseRescheduleTo, parseWhen } from '../../../src/delay-queue/validation/when.js';

/** What is refused stands in `test/hostile/corpus/times.ts`. */
describe('parseDurationMs', () => {
  it.each<[unknown, number]>([
    [0, 0],
    [2 ** 31, 2_147_483_648],
    ['0', 0],
    ['-0', 0],
    ['250ms', 250],
    ['1.5s', 1_500],
    ['.5s', 500],
    ['90 s', 90_000],
    ['30M', 1_800_000],
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

  it('does not guess the unit of a text, in any option', () => {
    const why = `lease: has no unit: "5000". Write '5000s' for seconds, or the number 5000 for milliseconds`;
    expect(() => leaseMs('5000')).toThrow(why);
    expect(leaseMs(5_000)).toBe(5_000);
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

function leaseMs(value: unknown): number {
  return parseDurationBetween(value, 'lease', '1s', '1h');
}

/** What is refused stands in `test/hostile/corpus/times.ts`. */
describe('parseWhen', () => {
  it('reads after as milliseconds and at as an ISO text', () => {
    expect(parseWhen({ after: '30m' })).toEqual({ kind: 'after', ms: 1_800_000 });
    expect(parseWhen({ after: 0, at: undefined })).toEqual({ kind: 'after', ms: 0 });
    expect(parseWhen({ at: new Date('2030-01-01T00:00:00.001Z'), after: undefined })).toEqual({
      kind: 'at',
      iso: '2030-01-01T00:00:00.001Z',
    });
  });

  it('takes a Date of another realm for a Date', () => {
    const at: unknown = runInNewContext('new Date(1000)');
    expect(parseWhen({ at })).toEqual({ kind: 'at', iso: '1970-01-01T00:00:01.000Z' });
  });
});

describe('parseRescheduleTo', () => {
  it('knows extendBy beside after and at', () => {
    expect(parseRescheduleTo({ extendBy: '3d' })).toEqual({ kind: 'extend', ms: 259_200_000 });
    expect(parseRescheduleTo({ after: '1s' })).toEqual({ kind: 'after', ms: 1_000 });
    expect(parseRescheduleTo({ at: new Date(5) })).toEqual({
      kind: 'at',
      iso: '1970-01-01T00:00:00.005Z',
    });
  });

  it.each([{}, null, { extendBy: '3x' }, { extendBy: -1 }, { extendBy: '3d', after: '1s' }])(
    'refuses %p',
    (to) => {
      expect(() => parseRescheduleTo(to)).toThrow(DelayInvalidError);
    },
  );
});
