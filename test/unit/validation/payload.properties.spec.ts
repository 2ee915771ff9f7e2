import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import { encodePayload, PAYLOAD_BYTES_MAX } from '../../../src/delay-queue/validation/payload.js';

describe('encodePayload, by property', () => {
  it('whatever JSON text says comes back deeply equal', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (json) => {
        const payload: unknown = JSON.parse(json);
        const text = textOf(payload);
        // What is refused here is refused for a reason that JSON itself allows.
        fc.pre(text !== undefined);
        expect(JSON.parse(text)).toEqual(withoutMinusZero(payload));
      }),
    );
  });

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
