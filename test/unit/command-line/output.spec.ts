import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { passwordsIn, withoutPasswords } from '../../../src/delay-queue/cli/failures.js';
import { duration, toJson, table } from '../../../src/delay-queue/cli/output.js';

/** As the code points of what acts: a pattern of them would be one itself. */
const ACTS: readonly (readonly [number, number])[] = [
  [0, 9],
  [11, 31],
  [127, 159],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
];

const acting = (text: string): string[] =>
  Array.from(text).filter((char) =>
    ACTS.some(([from, to]) => char.codePointAt(0)! >= from && char.codePointAt(0)! <= to),
  );

describe('whatever a key holds', () => {
  const text = fc.string({ unit: 'binary', maxLength: 40 });

  it('JSON says the same and acts on no terminal', () => {
    fc.assert(
      fc.property(text, (key) => {
        const json = toJson({ key });
        expect(JSON.parse(json)).toEqual({ key });
        expect(acting(json)).toEqual([]);
      }),
    );
  });

  it('a table has one line for each row', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (keys) => {
        const shown = table(keys, [{ title: 'key', of: (key) => key }]);
        expect(shown.split('\n')).toHaveLength(keys.length + 1);
        expect(acting(shown)).toEqual([]);
      }),
    );
  });
});

it('a table is aligned: texts at the left, numbers at the right, nothing as a dash', () => {
  const rows = [
    { name: 'order.close', count: 12_000, error: null },
    { name: 'a', count: 3, error: 'x'.repeat(20) },
  ];
  const shown = table(rows, [
    { title: 'name', of: ({ name }) => name },
    { title: 'count', of: ({ count }) => count },
    { title: 'error', of: ({ error }) => error, widthMax: 5 },
  ]);
  expect(shown).toBe(
    ['name          count  error', 'order.close  12,000  -', 'a                 3  xxxxx…'].join(
      '\n',
    ),
  );
});

it.each([
  ['注文', 4],
  ['カート', 6],
  ['ｶｰﾄ', 3],
  ['주문', 4],
  ['「」、', 6],
  ['ＯＫ', 4],
  ['🛒', 2],
  ['né', 2],
  ['ne\u0301', 2],
  ['ขึ้น', 2],
  ['Ω', 1],
])('a table is aligned as a terminal shows it: %s in %d columns', (key, width) => {
  const columns = [
    { title: 'the key', of: () => key },
    { title: 'state', of: () => 'dead' },
  ];
  const [, line] = table([{}], columns).split('\n');
  expect(line).toBe(`${key}${' '.repeat('the key'.length - width)}  dead`);
});

it.each([
  [0, '0 ms'],
  [250, '250 ms'],
  [1_000, '1 s'],
  [252_000, '4 min 12 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h'],
  [90_000_000, '1 d 1 h'],
  [-5_000, '-5 s'],
])('%d ms are told as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

describe('a password', () => {
  it.each([
    ['Invalid URL postgres://shop:p@ss:w0rd@db/shop here', 'postgres://shop:***@db/shop here'],
    ['at postgres://db/shop?password=w0rd&sslmode=require', 'password=***&sslmode=require'],
  ])('in a URL is not printed: %s', (text, shown) => {
    expect(withoutPasswords(text, [])).toContain(shown);
    expect(withoutPasswords(text, [])).not.toContain('w0rd');
  });

  it('of the connection is not printed, as it is or decoded', () => {
    const secrets = passwordsIn('postgres://shop:p%40ssw0rd@db/shop');
    expect(secrets).toEqual(['p%40ssw0rd', 'p@ssw0rd']);
    expect(withoutPasswords('role p@ssw0rd, or p%40ssw0rd', secrets)).toBe('role ***, or ***');
    expect(passwordsIn('postgres://shop:%zz@db/shop')).toEqual(['%zz']);
    expect(passwordsIn(undefined)).toEqual([]);
  });
});
