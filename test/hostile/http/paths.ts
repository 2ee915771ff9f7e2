import { ID, type HostileRequest } from './request.js';

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

export const PATHS: readonly HostileRequest[] = [
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
  ...['/nowhere', '/.env', '/orders//pay', '//example.com/', '/docs/%2e%2e/package.json'].map(
    (path) => ({ what: `GET ${path}`, method: 'GET', path, status: 404 }),
  ),
  ...['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'LOCK'].map((method) => ({
    what: `${method} /orders`,
    method,
    path: '/orders',
    status: 405,
    says: new RegExp(`^${method} is not possible here; `),
  })),
];
