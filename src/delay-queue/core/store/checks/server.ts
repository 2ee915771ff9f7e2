import { asFlag, asNumber, asText, type RowOf } from '../rows/columns.js';
import type { Check } from './finding.js';

const setting = (name: string): string => `pg_catalog.current_setting('${name}')`;

/** The server and this session; any role may read it. */
export const SERVER = {
  version: asText(setting('server_version'), 'version'),
  versionNum: asNumber(setting('server_version_num')),
  encoding: asText(setting('server_encoding'), 'encoding'),
  clientEncoding: asText(setting('client_encoding')),
  isolation: asText(setting('default_transaction_isolation'), 'isolation'),
  isReadOnly: asFlag(`(${setting('transaction_read_only')} = 'on')`),
  isStandby: asFlag('pg_catalog.pg_is_in_recovery()'),
  role: asText('pg_catalog.quote_ident(CURRENT_USER::text)', 'role'),
};

export type ServerReading = RowOf<typeof SERVER>;

/** A server or session that no node starts on. */
export const SERVER_CHECKS: readonly Check<ServerReading>[] = [
  {
    id: 'versions',
    isWrong: ({ versionNum }) => versionNum < 140_000,
    found: ({ version }) => `Postgres ${version} is too old`,
    means: 'The statements of the library need Postgres 14 or later: no node starts.',
    todo: 'Upgrade the server.',
  },
  {
    id: 'writes',
    isWrong: ({ isStandby }) => isStandby,
    found: () => 'this server is a standby',
    means: 'It can be read. Nodes need the primary.',
    todo: 'Connect to the primary.',
  },
  {
    id: 'writes',
    level: 'notice',
    isWrong: ({ isStandby, isReadOnly }) => isReadOnly && !isStandby,
    found: () =>
      'transactions are read-only here (default_transaction_read_only, or a server that accepts no writes)',
    means: 'This suits a role that only reads. With it no node starts, and nothing can be changed.',
    todo: 'For a role that writes: connect to the primary.',
    sql: ({ role }) => `ALTER ROLE ${role} SET default_transaction_read_only = off`,
  },
  {
    id: 'isolation',
    isWrong: ({ isolation }) => isolation !== 'read committed',
    found: ({ isolation }) => `default_transaction_isolation is '${isolation}'`,
    means: 'A claim could not skip rows that have changed meanwhile: no node starts.',
    todo: 'Set it for the role, and choose another level per transaction.',
    sql: ({ role }) => `ALTER ROLE ${role} SET default_transaction_isolation = 'read committed'`,
  },
  {
    id: 'encoding',
    isWrong: ({ encoding }) => encoding !== 'UTF8',
    found: ({ encoding }) => `the encoding of this database is ${encoding}`,
    means: 'Payloads, keys and error texts may hold any character: no node starts.',
    todo: "Create a database with ENCODING 'UTF8' TEMPLATE template0, and move the tables there with pg_dump.",
  },
  {
    id: 'encoding',
    isWrong: ({ encoding, clientEncoding }) => encoding === 'UTF8' && clientEncoding !== 'UTF8',
    found: ({ clientEncoding }) => `client_encoding is ${clientEncoding}`,
    means: 'pg sends UTF8: no node starts.',
    todo: 'Remove the setting from the URL, the DataSource, the role and the database.',
  },
];

/** Limits that end a statement of the engine where it cannot change the session's settings. */
export const TIME_LIMITS = ['statement_timeout', 'transaction_timeout'] as const;

/** Shorter limits do harm: a claim of 500 rows on a busy server takes its time. */
export const TIME_LIMIT_MS_MIN = 5_000;
