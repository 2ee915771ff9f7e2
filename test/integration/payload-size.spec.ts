import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../src/delay-queue/delay/delay.errors.js';
import { encodePayload } from '../../src/delay-queue/validation/payload.js';
import { fileDatabase } from '../support/file-database.js';

const database = fileDatabase();

const SMALL = [0, -0, 1e-6, 1e-7, -1e-7, 1.5e-7, 1.25e-300, 123.456, -0.1, 0.1 + 0.2];
const ENDS = [Number.MIN_VALUE, -Number.MIN_VALUE, 2.2250738585072014e-308, Number.EPSILON];
const LARGE = [1e15 + 0.5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
const NUMBERS = [...SMALL, ...ENDS, ...LARGE];

/** With one more byte it is accepted. */
function refused(payload: unknown, bytesMax: number): boolean {
  try {
    encodePayload(payload, bytesMax);
    return false;
  } catch (error) {
    if (!(error instanceof DelayInvalidError)) throw error;
    return /\bbytes\b/.test(error.why);
  }
}

it('the limit of a payload counts exactly what is read back, and that is what was given', async () => {
  const client = await database.connect();
  const number = fc.oneof(
    fc.constantFrom(...NUMBERS),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !isBigInteger(n)),
  );
  const text = fc.string({ unit: 'binary' }).filter(isStorable);
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(number, text, fc.boolean(), fc.constant(null)),
      fc.array(tie('value'), { maxLength: 6 }),
      fc.dictionary(text, tie('value'), { maxKeys: 6, noNullPrototype: true }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(value, async (payload) => {
      const sent = encodePayload(payload, 1_048_576);
      const { rows } = await client.query<{ bytes: number; back: string }>(
        'SELECT octet_length(p.j::text) AS bytes, p.j::text AS back FROM (SELECT $1::jsonb AS j) AS p',
        [sent],
      );
      const [{ bytes, back }] = rows as [{ bytes: number; back: string }];
      expect(JSON.parse(back)).toEqual(withoutMinusZero(payload));
      expect(encodePayload(payload, bytes)).toBe(sent);
      expect(refused(payload, bytes - 1)).toBe(true);
    }),
    { numRuns: 500, examples: NUMBERS.map((n): [number] => [n]) },
  );
});

const isBigInteger = (n: number): boolean => Number.isInteger(n) && !Number.isSafeInteger(n);

const isStorable = (text: string): boolean => !text.includes('\0') && text !== '__proto__';

/** `jsonb` has one zero. */
function withoutMinusZero(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(withoutMinusZero);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withoutMinusZero(inner)]),
  );
}
