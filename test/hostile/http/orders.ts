import { GOOD, item, post, type HostileRequest } from './request.js';

const order = (what: string, body: unknown, says: RegExp, status = 400): HostileRequest =>
  post('/orders', what, JSON.stringify(body), { says, status });

const QUANTITIES: readonly [what: string, json: string][] = [
  ['0', '0'],
  ['-1', '-1'],
  ['minus zero', '-0'],
  ['100', '100'],
  ['1.5', '1.5'],
  ['a hair above 1', '1.0000000001'],
  ['1e309', '1e309'],
  ['2^53', '9007199254740992'],
  ['2^64', '18446744073709551616'],
  ['a text', '"1"'],
  ['null', 'null'],
  ['true', 'true'],
  ['a list', '[1]'],
  ['an object', '{"valueOf":1}'],
];

const SKUS: readonly [what: string, sku: unknown][] = [
  ['SQL', `x'; DROP TABLE sku; --`],
  ['NUL', 'CUP\0WHITE'],
  ['10 kB', 'x'.repeat(10_000)],
  ['an emoji', '☕'],
  ['a lone surrogate', '\uD800'],
  ['a line break at the end', 'CUP-WHITE\n'],
  ['a path', '../../etc/passwd'],
  ['nothing', ''],
  ['null', null],
  ['a number', 7],
  ['a list', ['CUP-WHITE']],
  ['an object', { $ne: null }],
];

export const ORDERS: readonly HostileRequest[] = [
  ...QUANTITIES.map(([what, json]) =>
    post('/orders', `a quantity of ${what}`, GOOD.replace(':1', `:${json}`), {
      says: /^items\.0\.quantity: /,
    }),
  ),
  ...SKUS.map(([what, sku]) => order(`a SKU of ${what}`, item({ sku }), /^items\.0\.sku: /)),
  ...['__proto__', 'constructor', 'toString', 'cup-white'].map((sku) =>
    order(`the SKU ${sku}`, item({ sku }), new RegExp(`"${sku}"`)),
  ),
  post('/orders', '__proto__ instead of items', `{"__proto__":${GOOD}}`, { says: /^items: / }),
  order('a constructor', { constructor: { prototype: { admin: true } } }, /^items: /),
  order('an object as a list', { items: { length: 1, 0: {} } }, /^items: /),
  order('5,000 empty lines', { items: Array.from({ length: 5_000 }, () => ({})) }, /^items/),
  order('null for a line', { items: [null] }, /^items\.0: /),
  order('more than there is', item({ quantity: 99, sku: 'SCARCE' }), /SCARCE/, 409),
];
