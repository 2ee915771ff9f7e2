import { JSON_TYPE, type HostileRequest } from './request.js';

const change = (
  [method, path, rest]: readonly [method: string, path: string, rest: string],
  field: string,
  json: string,
): HostileRequest => ({
  what: `${method} ${path}: ${field} of ${json.slice(0, 40)}`,
  method,
  path,
  headers: JSON_TYPE,
  body: `{${rest}"${field}":${json}}`,
  status: 400,
  says: new RegExp(`^${field}: `),
});

const DURATIONS = [
  '0',
  '1e309',
  '"-5m"',
  '"0ms"',
  '"1e3s"',
  '"30m; DROP TABLE merchant"',
  '"3651d"',
  '"\\u0000"',
  '[]',
  '{"ms":1}',
  'true',
  JSON.stringify(`${'9'.repeat(10_000)}d`),
];

const TERMS = ['PATCH', '/merchants/kiln', ''] as const;
const PROVIDER = ['PUT', '/sample-provider', '"refunds":"fail",'] as const;

/** What a merchant sets, and what the sample's provider is told. */
export const SETTINGS: readonly HostileRequest[] = [
  ...DURATIONS.map((json) => change(TERMS, 'payWithin', json)),
  ...DURATIONS.map((json) => change(TERMS, 'remindBefore', json)),
  ...DURATIONS.map((json) => change(PROVIDER, 'for', json)),
];
