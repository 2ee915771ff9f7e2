import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  DURATION_MS_MAX,
  durationIn,
  parseDurationMs,
  parseRescheduleTo,
  parseWhen,
} from '../../../src/delay-queue/core/config/durations.js';

const upTo = (max: number) => fc.double({ min: 0, max, noNaN: true });
const leaseMs = (value: unknown): number => durationIn('1s', '1h')(value, 'lease');

/** What is refused stands in `test/hostile/corpus/times.ts`. */
describe('a duration', () => {
  it.each<[unknown, number]>([
    ['0', 0],
    ['-0', 0],
    [2 ** 31, 2_147_483_648],
    ['.5s', 500],
    ['90 s', 90_000],
    ['2 weeks', 1_209_600_000],
    ['36525d', DURATION_MS_MAX],
    // Up, so that nothing is early, but for the noise of binary numbers.
    [0.2, 1],
    ['0.1ms', 1],
    ['1.1h', 3_960_000],
    [1.1 * 3_600_000, 3_960_000],
  ])('%p is %p ms', (value, expectedMs) => {
    expect(parseDurationMs(value, 'after')).toBe(expectedMs);
  });

  it('that is a number is never too short, and at most a millisecond too long', () => {
    const number = fc.oneof(upTo(10), upTo(1e12 - 1));
    fc.assert(
      fc.property(number, (value) => {
        const noise = value * 1e-14;
        const read = parseDurationMs(value, 'after');
        expect(read).toBeGreaterThanOrEqual(value - noise);
        expect(read).toBeLessThanOrEqual(value + 1 + noise);
      }),
      { numRuns: 500 },
    );
  });

  it('that is a decimal text with a unit is its exact product, rounded up', () => {
    const units = { ms: 1n, s: 1_000n, m: 60_000n, h: 3_600_000n, d: 86_400_000n, w: 604_800_000n };
    const unit = fc.constantFrom(...Object.entries(units));
    fc.assert(
      fc.property(fc.nat(5_000), fc.stringMatching(/^\d{1,4}$/), unit, (whole, fraction, of) => {
        const [name, unitMs] = of;
        const scale = 10n ** BigInt(fraction.length);
        const exact = (BigInt(whole) * scale + BigInt(fraction)) * unitMs;
        const text = `${whole}.${fraction}${name}`;
        expect(parseDurationMs(text, 'after')).toBe(Number((exact + scale - 1n) / scale));
      }),
      { numRuns: 500 },
    );
  });

  it('between two bounds may be either of them', () => {
    expect([leaseMs('1s'), leaseMs('60m')]).toEqual([1_000, 3_600_000]);
    expect(() => leaseMs(999)).toThrow('lease: must be from 1s to 1h, not 999');
    expect(() => leaseMs('61m')).toThrow('lease: must be from 1s to 1h, not "61m"');
  });
});

describe('a due time', () => {
  it.each<[object, object]>([
    [
      { after: 0, at: undefined },
      { kind: 'after', ms: 0 },
    ],
    [{ at: new Date(0) }, { kind: 'at', iso: '1970-01-01T00:00:00.000Z' }],
    // Of another realm, as Jest has one.
    [{ at: runInNewContext('new Date(7e11)') }, { kind: 'at', iso: '1992-03-07T20:26:40.000Z' }],
  ])('%j is told to the database as %j', (when, told) => {
    expect(parseWhen(when)).toEqual(told);
    expect(parseRescheduleTo(when)).toEqual(told);
  });

  it('may be extended when it is moved, and by nothing else then', () => {
    expect(parseRescheduleTo({ extendBy: '3d' })).toEqual({ kind: 'extend', ms: 259_200_000 });
    expect(() => parseRescheduleTo({ extendBy: '3d', after: '1s' })).toThrow('not both');
    expect(() => parseRescheduleTo({})).toThrow('exactly one of after, at, extendBy');
    expect(() => parseRescheduleTo({ extendsBy: '3d' })).toThrow('did you mean extendBy');
    expect(() => parseRescheduleTo({ after: '3d', by: 'anna' })).toThrow(
      'to.by: goes in the argument behind the time: { by }',
    );
  });
});
