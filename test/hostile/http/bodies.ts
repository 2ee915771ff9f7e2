import { gzipSync } from 'node:zlib';
import { GOOD, JSON_TYPE, text, type HostileRequest } from './request.js';

const wrongType = (type?: string): Partial<HostileRequest> => ({
  headers: type === undefined ? {} : { 'content-type': type },
  status: 415,
  says: /content-type: application\/json/,
});

export const BODIES: readonly HostileRequest[] = [
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
  text('a form', 'items=1', wrongType('application/x-www-form-urlencoded')),
  text('plain text', GOOD, wrongType('text/plain')),
  text(
    'XML',
    '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
    wrongType('application/xml'),
  ),
  text('multipart', '--b\r\n\r\nx\r\n--b--', wrongType('multipart/form-data; boundary=b')),
  text('a type that is no type', GOOD, wrongType('/;;=')),
  text('a type that is nearly JSON', GOOD, wrongType('application/json5')),
  text('no type', GOOD, wrongType()),
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

export const KEYS: readonly HostileRequest[] = (
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
