import { gzipSync } from 'node:zlib';
import type { Case } from '../support/every-case.js';

/** A well-formed request with something in it that nobody should send, and what must be answered. */
export interface HostileRequest extends Case {
  method: string;
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  status: number;
  /** How one line of the answer's `message` begins, or what it says. */
  says?: RegExp;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const ID = '11111111-2222-4333-8444-555555555555';

const post = (
  path: string,
  what: string,
  body: string | Buffer,
  expected: Partial<HostileRequest>,
): HostileRequest => ({
  what: `POST ${path}: ${what}`,
  method: 'POST',
  path,
  headers: JSON_TYPE,
  body,
  status: 400,
  ...expected,
});

const order = (what: string, body: unknown, says: RegExp, status = 400): HostileRequest =>
  post('/orders', what, JSON.stringify(body), { says, status });

const text = (what: string, body: string | Buffer, given: Partial<HostileRequest> = {}) =>
  post('/orders', what, body, given);

const item = (given: object): object => ({ items: [{ sku: 'CUP-WHITE', quantity: 1, ...given }] });
const GOOD = JSON.stringify(item({}));

const BODIES: readonly HostileRequest[] = [
  text('no JSON', 'items=1'),
  text('JSON that breaks off', '{"items":'),
  text('JSON with a comma too many', '{"items":[],}'),
  text('JSON and something behind it', `${GOOD}x`),
  text('JSON in single quotes', `{'items':[]}`),
  text('a bare word', 'NaN'),
  text('NUL', '\0'),
  text('nothing', ''),
  text('null', 'null'),
  text('a number', '1'),
  text('a text', '"items"'),
  text('a list', '[]', { says: /object/ }),
  text('65 KB', JSON.stringify({ items: 'x'.repeat(66_000) }), { status: 413 }),
  text('10 MB', Buffer.alloc(10_000_000, '['), { status: 413 }),
  text('lists 30,000 deep', '['.repeat(30_000) + ']'.repeat(30_000)),
  text('objects 10,000 deep', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, {
    says: /^items: /,
  }),
  text('what is no UTF-8', Buffer.from('{"items":[{"sku":"\xff\xfe","quantity":1}]}', 'latin1'), {
    says: /^items\.0\.sku: /,
  }),
  text('UTF-8 that is longer than needed', Buffer.from('{"items":"\xc0\xaf"}', 'latin1'), {
    says: /^items: /,
  }),
  text('a form', 'items=1', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  text('plain text', GOOD, { headers: { 'content-type': 'text/plain' } }),
  text('XML', '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', {
    headers: { 'content-type': 'application/xml' },
  }),
  text('multipart', '--b\r\n\r\nx\r\n--b--', {
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  }),
  text('a type that is no type', GOOD, { headers: { 'content-type': '/;;=' } }),
  text('no type', GOOD, { headers: {} }),
  text('a character set nobody has', GOOD, {
    headers: { 'content-type': 'application/json; charset=x-odd' },
    status: 415,
  }),
  text('an encoding nobody has', GOOD, {
    headers: { ...JSON_TYPE, 'content-encoding': 'odd' },
    status: 415,
  }),
  text('gzip that is none', GOOD, { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }),
  text('gzip of 50 MB', gzipSync(Buffer.alloc(50_000_000, ' ')), {
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    status: 413,
  }),
];

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

const ORDERS: readonly HostileRequest[] = [
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

const KEYS: readonly HostileRequest[] = (
  [
    ['of nothing', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['of 10 kB', 'k'.repeat(10_000)],
    ['with a blank', 'a b'],
    ['with a tab', 'a\tb'],
    ['in Latin 1', 'caf\xe9'],
    ['twice', ['one', 'two']],
  ] as const
).map(([what, key]) => ({
  ...text(`an Idempotency-Key ${what}`, GOOD),
  headers: { ...JSON_TYPE, 'idempotency-key': typeof key === 'string' ? key : [...key] },
  says: /^Idempotency-Key: /,
}));

const IDS: readonly [what: string, id: string, status?: number][] = [
  ['SQL', encodeURIComponent(`' OR 1=1; DROP TABLE orders; --`)],
  ['an id with SQL behind it', encodeURIComponent(`${ID}' OR '1'='1`)],
  ['NUL', 'a%00b'],
  ['10 kB', 'x'.repeat(10_000)],
  ['an emoji', encodeURIComponent('😀')],
  ['a path', '..%2f..%2f..%2fetc%2fpasswd'],
  ['a header', '%0d%0aSet-Cookie:%20odd=1'],
  ['an id in braces', encodeURIComponent(`{${ID}}`)],
  ['an id as a URN', `urn:uuid:${ID}`],
  ['an id and a blank', `${ID}%20`],
  ['undefined', 'undefined'],
  ['[object Object]', encodeURIComponent('[object Object]')],
  ['a tag', encodeURIComponent('<script>alert(1)</script>')],
  ['a percent sign', '%', 400],
  ['what is no UTF-8', '%C3%28', 400],
];

const ACTIONS = ['pay', 'cancel', 'ship', 'confirm', 'extend'];

const PATHS: readonly HostileRequest[] = [
  ...IDS.map(([what, id, status = 404]) => ({
    what: `GET /orders/:id: ${what}`,
    method: 'GET',
    path: `/orders/${id}`,
    status,
  })),
  ...IDS.slice(0, 4).flatMap(([what, id]) =>
    ACTIONS.map((action) => ({
      what: `POST /orders/:id/${action}: ${what}`,
      method: 'POST',
      path: `/orders/${id}/${action}`,
      status: 404,
    })),
  ),
  ...[
    '/nowhere',
    '/.env',
    '/orders',
    '/orders//pay',
    '//example.com/',
    '/docs/%2e%2e/package.json',
  ].map((path) => ({ what: `GET ${path}`, method: 'GET', path, status: 404 })),
  ...['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'LOCK'].map((method) => ({
    what: `${method} /orders`,
    method,
    path: '/orders',
    status: 404,
  })),
];

const report = (what: string, given: object, says: RegExp): HostileRequest => {
  const good = { orderId: ID, provider: 'test', transaction: 'tx', amount: 100 };
  return post('/payments/callback', what, JSON.stringify({ ...good, ...given }), { says });
};

const CALLBACK = '{"orderId":"' + ID + '","provider":"test","transaction":"tx","amount":';

const PAYMENTS: readonly HostileRequest[] = [
  ...[
    '0',
    '-1',
    '0.5',
    '1e309',
    '2147483648',
    '9007199254740993',
    '"100"',
    'null',
    '[1]',
    '{}',
  ].map((amount) =>
    post('/payments/callback', `an amount of ${amount}`, `${CALLBACK}${amount}}`, {
      says: /^amount: /,
    }),
  ),
  report('an order of SQL', { orderId: `' OR 1=1 --` }, /^orderId: /),
  report('an order of a list', { orderId: [ID] }, /^orderId: /),
  report('no provider', { provider: '' }, /^provider: /),
  report('a provider of 65 characters', { provider: 'p'.repeat(65) }, /^provider: /),
  report('a provider with a line break', { provider: 'a\r\nb' }, /^provider: /),
  report('a transaction with NUL', { transaction: 'a\0' }, /^transaction: /),
  report('a transaction of 256 characters', { transaction: 't'.repeat(256) }, /^transaction: /),
  report('a transaction of an emoji', { transaction: '😀' }, /^transaction: /),
  report('a transaction of an object', { transaction: { $gt: '' } }, /^transaction: /),
];

const REVIEWS: readonly HostileRequest[] = [
  '0',
  '6',
  '-1',
  '4.5',
  '"5"',
  'null',
  '1e309',
  '[5]',
  '{}',
].map((stars) =>
  post(`/orders/${ID}/review`, `stars: ${stars}`, `{"stars":${stars}}`, { says: /^stars: / }),
);

export const REQUESTS: readonly HostileRequest[] = [
  ...BODIES,
  ...ORDERS,
  ...KEYS,
  ...PATHS,
  ...PAYMENTS,
  ...REVIEWS,
];
