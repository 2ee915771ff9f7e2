import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { flags, numbers, texts } from '../../src/delay-queue/store/wire/arrays.js';
import { LONE_SURROGATE } from '../../src/delay-queue/validation/names.js';
import { fileDatabase } from '../support/file-database.js';

const database = fileDatabase();

/** What a text may be made of, with everything that means something to whoever reads an array. */
const text = fc.oneof(
  fc
    .string({ unit: 'binary' })
    .filter((value) => !LONE_SURROGATE.test(value) && !value.includes('\0')),
  fc.string({ unit: fc.constantFrom('"', '\\', ',', '{', '}', ' ', '\n', "'", '$', '&') }),
  fc.constantFrom('NULL', 'null', '', '{"n":1}'),
);

it('Postgres reads what was given, whatever is in it', async () => {
  const client = await database.connect();
  await fc.assert(
    fc.asyncProperty(
      fc.array(text),
      fc.array(fc.double()),
      fc.array(fc.boolean()),
      async (givenTexts, givenNumbers, givenFlags) => {
        const { rows } = await client.query(
          'SELECT $1::text[] AS texts, $2::float8[] AS numbers, $3::bool[] AS flags',
          [texts(givenTexts), numbers(givenNumbers), flags(givenFlags)],
        );
        expect(rows).toEqual([
          {
            texts: givenTexts,
            numbers: givenNumbers.map((value) => value + 0),
            flags: givenFlags,
          },
        ]);
      },
    ),
    { numRuns: 300 },
  );
});
