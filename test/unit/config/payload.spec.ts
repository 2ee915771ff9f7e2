import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../../src/delay-queue/core/api/errors.js';
import {
  encodePayload,
  PAYLOAD_BYTES_MAX,
} from '../../../src/delay-queue/core/config/payload-encoder.js';

const encode = (payload: unknown, bytesMax = PAYLOAD_BYTES_MAX): string =>
  encodePayload(payload, bytesMax);

const nested = (depth: number): unknown[] => (depth === 1 ? [] : [nested(depth - 1)]);

/** What is refused stands in `test/hostile/corpus/payloads.ts`. */
describe('a payload', () => {
  it.each<[unknown, string]>([
    [null, 'null'],
    ['ä"\n💥\u2028', JSON.stringify('ä"\n💥\u2028')],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    // The only zero of jsonb.
    [[-0], '[0]'],
    [{ id: '42', items: [{ price: 1.5 }, null] }, '{"id":"42","items":[{"price":1.5},null]}'],
    [{ constructor: 1, toJSON: 'text', '': 0 }, '{"constructor":1,"toJSON":"text","":0}'],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [runInNewContext('({ get a() { return [1, { b: 2 }]; } })'), '{"a":[1,{"b":2}]}'],
    [nested(64), '['.repeat(64) + ']'.repeat(64)],
  ])('no. %# becomes %p', (payload, json) => {
    expect(encode(payload)).toBe(json);
  });

  it.each<[string, unknown, bytes: number]>([
    ['UTF-8, not characters', 'ä', 4],
    ['what is escaped', '\n'.repeat(10), 22],
    ['the separators of jsonb', [10, 20], 8],
    ['those of objects', { a: 1, b: 2 }, 16],
    ['numbers without exponents', { n: [5e-324] }, 335],
  ])('is as large as Postgres writes it: %s', (_, payload, bytes) => {
    expect(encode(payload, bytes)).toBe(JSON.stringify(payload));
    expect(() => encode(payload, bytes - 1)).toThrow(`larger than ${bytes - 1} bytes`);
  });

  it('with a number that is too large by itself is told which', () => {
    expect(() => encode({ n: [-1.5e-7] }, 10)).toThrow(
      'payload.n[0]: is a number of 11 bytes when it is written out, as jsonb does',
    );
  });

  it('is read up to the limit, instead of building what is too large', () => {
    let reads = 0;
    const page = {
      get text() {
        reads += 1;
        return 'x'.repeat(1_000);
      },
    };
    expect(() => encode(Array.from({ length: 10_000 }, () => page))).toThrow('larger than');
    expect(reads).toBeLessThan(70);
  });

  it('of more keys than can fit is refused before any of them is read', () => {
    let reads = 0;
    const crowd = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n]));
    const object = Object.defineProperty({ ...crowd }, 'k0', {
      enumerable: true,
      get: () => (reads += 1),
    });
    expect(() => encode(object)).toThrow('larger than');
    expect(reads).toBe(0);
  });

  it.each([{ card: 'card 4111\0' }, { card: 4_111_000_000_000_000_000n }])(
    'is never repeated in its error: no. %#',
    (payload) => {
      expect(() => encode(payload)).toThrow(/^payload\.card: (?!.*4111)/);
    },
  );

  it('that is anything at all becomes a text that round-trips, or a typed error', () => {
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
        expect(encode(back)).toBe(text);
        expect(Buffer.from(text).toString()).toBe(text);
      }),
      { numRuns: 300 },
    );
  });
});

/** The text, or `undefined` for a typed refusal. Any other error fails the test. */
function textOf(payload: unknown): string | undefined {
  try {
    return encode(payload);
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
