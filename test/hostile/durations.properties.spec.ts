import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import ms from 'ms';
import { DURATION_MS_MAX, parseDurationMs } from '../../src/delay-queue/validation/duration.js';

const parse = (value: unknown): number => parseDurationMs(value, 'after');

const UNITS: Record<string, bigint> = {
  ms: 1n,
  s: 1_000n,
  m: 60_000n,
  h: 3_600_000n,
  d: 86_400_000n,
  w: 604_800_000n,
};
const unit = fc.constantFrom(...Object.entries(UNITS));
const number = fc.oneof(
  fc.double({ min: 0, max: DURATION_MS_MAX, noNaN: true }),
  fc.double({ min: 0, max: 10, noNaN: true }),
  fc.integer({ min: 0, max: DURATION_MS_MAX }),
);

describe('the laws of durations', () => {
  it('more is never less', () => {
    fc.assert(
      fc.property(number, number, (a, b) => {
        const [less, more] = a < b ? [a, b] : [b, a];
        expect(parse(less)).toBeLessThanOrEqual(parse(more));
      }),
      { numRuns: 2_000 },
    );
  });

  it('what was read once reads the same again, as a number and as a text', () => {
    fc.assert(
      fc.property(number, (value) => {
        const once = parse(value);
        expect(parse(once)).toBe(once);
        expect(parse(`${once}`)).toBe(once);
        expect(parse(`${once}ms`)).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never too short, and at most a millisecond too long', () => {
    fc.assert(
      fc.property(number, (value) => {
        const noise = value * 1e-15 * 10;
        expect(parse(value)).toBeGreaterThanOrEqual(value - noise);
        expect(parse(value)).toBeLessThanOrEqual(value + 1 + noise);
      }),
      { numRuns: 2_000 },
    );
  });

  it('a decimal text is its exact product, rounded up', () => {
    const digits = fc.string({
      unit: fc.constantFrom(...'0123456789'.split('')),
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.nat(5_000), digits, unit, (whole, fraction, [name, unitMs]) => {
        const scale = 10n ** BigInt(fraction.length);
        const exact = (BigInt(whole) * scale + BigInt(fraction)) * unitMs;
        const roundedUp = Number((exact + scale - 1n) / scale);
        expect(parse(`${whole}.${fraction}${name}`)).toBe(roundedUp);
        expect(parse(`${whole}.${fraction} ${name.toUpperCase()}`)).toBe(roundedUp);
      }),
      { numRuns: 2_000 },
    );
  });

  it('what ms writes is read as what ms meant', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DURATION_MS_MAX / 2 }), (value) => {
        for (const long of [false, true]) {
          const written = ms(value, { long });
          expect(parse(written)).toBe(ms(written as ms.StringValue));
        }
      }),
    );
  });

  it('the bounds are included, and the next doubles beyond them are refused', () => {
    expect(parse(0)).toBe(0);
    expect(parse(DURATION_MS_MAX)).toBe(DURATION_MS_MAX);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.double({ max: -Number.MIN_VALUE, noNaN: true }),
          fc.double({ min: DURATION_MS_MAX + 0.01, noNaN: true }),
          fc.constant(NaN),
        ),
        (value) => expect(() => parse(value)).toThrow(/^after: must /),
      ),
      { numRuns: 500 },
    );
  });
});
