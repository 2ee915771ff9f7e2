import { post, type HostileRequest } from './request.js';

const AT = new Date(Date.now() + 3_600_000).toISOString();
const GOOD = { at: AT, message: 'a test', recipients: ['+8613800000001'] };

const change = (field: keyof typeof GOOD, what: string, json: string): HostileRequest =>
  post(
    '/campaigns',
    `${field} of ${what}`,
    JSON.stringify({ ...GOOD, [field]: 0 }).replace(`"${field}":0`, `"${field}":${json}`),
    { says: new RegExp(`^${field}(?:\\.\\d+)?: `) },
  );

const TIMES: readonly [what: string, json: string][] = [
  ['null', 'null'],
  ['a number', '1790000000000'],
  ['no instant', '"tomorrow"'],
  ['no offset', '"2030-01-01T00:00:00"'],
  ['30 February', '"2030-02-30T00:00:00Z"'],
  ['the year 10000', '"+010000-01-01T00:00:00Z"'],
  ['the year 9999', '"9999-12-31T23:59:59Z"'],
  ['the year 0', '"0000-01-01T00:00:00Z"'],
  ['SQL', `"2030-01-01T00:00:00Z'; DROP TABLE campaign; --"`],
  ['a list', `["${AT}"]`],
];

const MESSAGES: readonly [what: string, json: string][] = [
  ['nothing', '""'],
  ['blanks', '" \\n "'],
  ['NUL', '"a\\u0000b"'],
  ['a bell', '"a\\u0007b"'],
  ['501 characters', JSON.stringify('x'.repeat(501))],
  ['a lone surrogate', '"\\ud800"'],
  ['null', 'null'],
  ['an object', '{"$ne":null}'],
];

const RECIPIENTS: readonly [what: string, json: string][] = [
  ['nobody', '[]'],
  ['null', 'null'],
  ['a text', '"+8613800000001"'],
  ['an object', '{"length":1,"0":"a"}'],
  ['a number', '["a",13800000001]'],
  ['nothing', '[""]'],
  ['a blank', '["a b"]'],
  ['NUL', '["a\\u0000b"]'],
  ['a line break at the end', '["a\\n"]'],
  ['an emoji', '["☕"]'],
  ['65 characters', JSON.stringify(['x'.repeat(65)])],
  ['a list in a list', '[["a"]]'],
  ['10,001', JSON.stringify(Array.from({ length: 10_001 }, (_, n) => `p${n}`))],
  ['400,000 numbers', JSON.stringify(Array.from({ length: 400_000 }, () => 0))],
];

export const CAMPAIGNS: readonly HostileRequest[] = [
  ...TIMES.map(([what, json]) => change('at', what, json)),
  ...MESSAGES.map(([what, json]) => change('message', what, json)),
  ...RECIPIENTS.map(([what, json]) => change('recipients', what, json)),
  post('/campaigns', 'a field nobody knows', JSON.stringify({ ...GOOD, urgent: true }), {
    says: /urgent/,
  }),
  post('/campaigns', '1.1 MB', JSON.stringify({ ...GOOD, message: 'x'.repeat(1_100_000) }), {
    status: 413,
  }),
];
