import { describe, expect, it } from '@jest/globals';
import {
  clockFinding,
  connectionFindings,
  serverFindings,
  settingFindings,
} from '../../../src/delay-queue/command-line/doctor-server.js';
import { sizeFindings } from '../../../src/delay-queue/command-line/doctor-tables.js';
import type { ServerFound } from '../../../src/delay-queue/store/doctor.store.js';

/** What no test can plant in the server that all tests share; the rest is planted in a database. */
const SOUND: ServerFound = {
  version: '18.4',
  version_num: '180004',
  encoding: 'UTF8',
  client_encoding: 'UTF8',
  isolation: 'read committed',
  read_only: 'off',
  is_standby: 'false',
  jit: 'off',
  autovacuum: 'on',
  track_counts: 'on',
  max_connections: '100',
  role: 'shop',
  quoted_role: 'shop',
  database: 'shop',
  connections: '10',
  now_ms: '0',
};

const levels = (change: Partial<ServerFound>) =>
  serverFindings({ ...SOUND, ...change }, '1.0.0')
    .filter(({ level }) => level !== 'ok')
    .map(({ level, check }) => `${level} ${check}`);

it.each([
  [{}, []],
  [{ version: '13.2', version_num: '130002' }, ['problem versions']],
  [{ encoding: 'LATIN1' }, ['problem encoding']],
  [{ client_encoding: 'LATIN1' }, ['problem encoding']],
  [{ is_standby: 'true', read_only: 'on' }, ['problem writes']],
  [{ read_only: 'on' }, ['notice writes']],
])('a server with %j', (change, told) => {
  expect(levels(change)).toEqual(told);
});

it.each(['autovacuum', 'track_counts'])('%s = off is a problem, with its remedy', (name) => {
  const [found] = settingFindings([{ name, setting: 'off', unit: null, source: 'x' }], 'shop');
  expect(found).toMatchObject({
    level: 'problem',
    check: 'autovacuum',
    sql: `ALTER SYSTEM SET ${name} = on; SELECT pg_catalog.pg_reload_conf()`,
  });
});

describe('connections', () => {
  it.each([
    [10, 3, 'ok'],
    [10, 15, 'notice'],
    [81, 0, 'problem'],
  ])('%d of 100 open, and %d nodes: %s', (connections, nodes, level) => {
    const given = { ...SOUND, connections: String(connections) };
    expect(connectionFindings(given, nodes)).toMatchObject([{ level, check: 'connections' }]);
  });
});

it.each([
  [1_000, 'ok'],
  [3_600_000, 'notice'],
  [-3_600_000, 'notice'],
])('a clock that is %d ms off: %s', (offMs, level) => {
  expect(clockFinding(1e12 + offMs, 1e12 - 5, 1e12 + 5)).toMatchObject({ level, check: 'clock' });
});

it('indexes that are mostly air are a notice, with what builds them again', () => {
  const relation = {
    table: 'delay',
    rows: 1_000,
    deadRows: 0,
    bytes: 1e6,
    indexBytes: 101_550_000,
    isVacuumed: true,
    vacuumedAt: null,
  };
  expect(sizeFindings('q', [relation])).toMatchObject([{ level: 'ok', check: 'size' }]);
  expect(sizeFindings('q', [{ ...relation, indexBytes: 101_550_001 }])).toMatchObject([
    {
      level: 'notice',
      check: 'bloat',
      found: 'the indexes of delay have 97 MiB for 1,000 rows',
      sql: 'REINDEX TABLE CONCURRENTLY "q".delay',
    },
  ]);
});
