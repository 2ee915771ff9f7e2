import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import { encodePayload, PAYLOAD_BYTES_MAX } from '../../../src/delay-queue/validation/payload.js';
import * as fc from 'fast-check';

const encode = (payload: unknown, bytesMax = PAYLOAD_BYTES_MAX): string =>
  encodePayload(payload, bytesMax);

/** What is refused stands in `test/hostile/corpus/payloads.ts`. */
describe('encodePayload', () => {
  it.each<[unknown, string]>([
    [null, 'null'],
    ['ä"\n💥\u2028', JSON.stringify('ä"\n💥\u2028')],
    [1.5e-300, '1.5e-300'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [{}, '{}'],
    [
      { orderId: '42', items: [{ price: 1.5 }, null] },
      '{"orderId":"42","items":[{"price":1.5},null]}',
    ],
    [
      { constructor: 1, toString: 'x', toJSON: 'text', '': 0 },
      '{"constructor":1,"toString":"x","toJSON":"text","":0}',
    ],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [runInNewContext('({ a: [1, { b: 2 }] })'), '{"a":[1,{"b":2}]}'],
    [
      {
        get a() {
          return 1;
        },
      },
      '{"a":1}',
    ],
  ])('payload no. %# becomes %p', (payload, json) => {
    expect(encode(payload)).toBe(json);
  });

  it('-0 becomes 0, the only zero of jsonb', () => {
    expect(encode([-0])).toBe('[0]');
  });

  it('accepts 64 levels and refuses the 65th', () => {
    expect(encode(nested(64))).toBe('['.repeat(64) + ']'.repeat(64));
    expect(refusalOf(nested(65))).toMatchObject({
      field: `payload${'[0]'.repeat(64)}`,
      why: 'is nested deeper than 64 levels',
    });
  });

  it('counts bytes of UTF-8, not characters', () => {
    expect(encode('ä', 4)).toBe('"ä"');
    expect(() => encode('ä', 3)).toThrow('payload: is larger than 3 bytes as JSON');
    expect(encode('x'.repeat(65_534))).toHaveLength(65_536);
    expect(() => encode('x'.repeat(65_535))).toThrow('larger than 65536 bytes');
    expect(() => encode('\n'.repeat(40_000))).toThrow('larger than 65536 bytes');
  });

  it('counts what Postgres writes, which is read back', () => {
    expect(encode([1, 2], 6)).toBe('[1,2]');
    expect(() => encode([1, 2], 5)).toThrow('larger than 5 bytes');
    expect(encode({ a: 1, b: 2 }, 16)).toBe('{"a":1,"b":2}');
    expect(() => encode({ a: 1, b: 2 }, 15)).toThrow('larger than 15 bytes');
    // 2.9 MB, where JSON has 63 kB.
    expect(() => encode(Array.from({ length: 9_000 }, () => 5e-324))).toThrow(
      'payload: is larger than 65536 bytes as JSON (as jsonb writes it, numbers without exponents)',
    );
    expect(encode(Array.from({ length: 199 }, () => 5e-324))).toHaveLength(199 * 7 + 1);
  });

  it('names a number that is too large by itself', () => {
    expect(encode({ n: 5e-324 }, 333)).toBe('{"n":5e-324}');
    expect(() => encode({ n: [-1.5e-7] }, 10)).toThrow(
      'payload.n[0]: is a number of 11 bytes when it is written out, as jsonb does',
    );
  });

  it('stops at the limit instead of building what is too large', () => {
    let reads = 0;
    const page = {
      get text() {
        reads += 1;
        return 'x'.repeat(1_000);
      },
    };
    expect(() => encode(Array.from({ length: 10_000 }, () => page))).toThrow('larger than');
    expect(reads).toBeLessThan(70);
    expect(() => encode('x'.repeat(10_000_000))).toThrow('larger than');
    expect(() => encode({ a: Array.from({ length: 1_000_000 }, () => 0) })).toThrow('larger');
  });

  it('never repeats a payload value in its error', () => {
    const value = 'card 4111 1111 1111 1111';
    expect(refusalOf({ card: `${value}\0` }).message).not.toContain('4111');
    expect(refusalOf({ card: 9_007_199_254_740_993n }).message).not.toContain('9007');
  });
});

function refusalOf(payload: unknown): DelayInvalidError {
  try {
    encode(payload);
  } catch (error) {
    if (error instanceof DelayInvalidError) return error;
    throw error;
  }
  throw new Error('the payload was accepted');
}

function nested(depth: number): unknown {
  let payload: unknown[] = [];
  for (let level = 1; level < depth; level++) payload = [payload];
  return payload;
}

describe('encodePayload, by property', () => {
  it('for anything at all: a text that round-trips, or a typed error', () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
      withObjectString: true,
    });
    fc.assert(
      fc.property(anything, (payload) => {
        const text = textOf(payload);
        fc.pre(text !== undefined);
        const back: unknown = JSON.parse(text);
        expect(back).toEqual(withoutMinusZero(payload));
        expect(encodePayload(back, PAYLOAD_BYTES_MAX)).toBe(text);
        expect(Buffer.from(text).toString()).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** The text, or `undefined` for a typed refusal. Any other error fails the test. */
function textOf(payload: unknown): string | undefined {
  try {
    return encodePayload(payload, PAYLOAD_BYTES_MAX);
  } catch (error) {
    if (error instanceof DelayInvalidError && error.field.startsWith('payload')) return undefined;
    throw error;
  }
}

/** `toEqual` tells 0 from -0 and sees prototypes of no plain value; copies make both the same. */
function withoutMinusZero(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(withoutMinusZero);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withoutMinusZero(inner)]),
  );
}
