import { ID, post, type HostileRequest } from './request.js';

const REASONS: readonly [what: string, json: string][] = [
  ['nothing', '""'],
  ['blanks', '"  \\t "'],
  ['NUL', '"a\\u0000b"'],
  ['two lines', '"a\\nb"'],
  ['501 characters', JSON.stringify('x'.repeat(501))],
  ['a lone surrogate', '"\\ud800"'],
  ['null', 'null'],
  ['a number', '7'],
  ['a list', '["it broke"]'],
  ['an object', '{"$ne":null}'],
];

export const DISPUTES: readonly HostileRequest[] = REASONS.map(([what, json]) =>
  post(`/orders/${ID}/dispute`, `a reason of ${what}`, `{"reason":${json}}`, { says: /^reason: / }),
);
