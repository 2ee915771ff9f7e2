import { describe, expect, it } from '@jest/globals';
import {
  judgeClock,
  judgeConnections,
  judgeServer,
  judgeSettings,
} from '../../../src/delay-queue/ops/checks/server.js';
import { judge } from '../../../src/delay-queue/core/store/checks/finding.js';
import { SIZE_CHECKS } from '../../../src/delay-queue/ops/checks/vacuum.js';
import type { ServerNow } from '../../../src/delay-queue/ops/checks/server.sql.js';

/** What no test can plant in the server that all tests share; the rest is planted in a database. */
const SOUND: ServerNow = {
  version: '18.4',
  versionNum: 180_004,
  encoding: 'UTF8',
  clientEncoding: 'UTF8',
  isolation: 'read committed',
  isReadOnly: false,
  isStandby: false,
  connectionsMax: 100,
  role: 'shop',
  database: 'shop',
  connections: 10,
  nowMs: 0,
};

const levels = (change: Partial<ServerNow>) =>
  judgeServer({ ...SOUND, ...change }, '1.0.0')
    .filter(({ level }) => level !== 'ok')
    .map(({ level, check }) => `${level} ${check}`);

it.each([
  [{}, []],
  [{ version: '13.2', versionNum: 130_002 }, ['problem versions']],
  [{ encoding: 'LATIN1' }, ['problem encoding']],
  [{ clientEncoding: 'LATIN1' }, ['problem encoding']],
  [{ isStandby: true, isReadOnly: true }, ['problem writes']],
  [{ isReadOnly: true }, ['notice writes']],
])('a server with %j', (change, told) => {
  expect(levels(change)).toEqual(told);
});

it.each(['autovacuum', 'track_counts'])('%s = off is a problem, with its remedy', (name) => {
  const [found] = judgeSettings({ [name]: 'off' }, 'shop');
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
    const given = { ...SOUND, connections };
    expect(judgeConnections(given, nodes)).toMatchObject({ level, check: 'connections' });
  });
});

it.each([
  [1_000, 'ok'],
  [3_600_000, 'notice'],
  [-3_600_000, 'notice'],
])('a clock that is %d ms off: %s', (offMs, level) => {
  expect(judgeClock(1e12 + offMs, 1e12 - 5, 1e12 + 5)).toMatchObject({ level, check: 'clock' });
});

it('indexes that are mostly air are a notice, with what builds them again', () => {
  const relation = {
    schema: 'q',
    table: 'delay',
    rows: 1_000,
    deadRows: 0,
    bytes: 1e6,
    indexBytes: 101_550_000,
    isVacuumed: true,
    vacuumedAt: null,
  };
  expect(judge(SIZE_CHECKS, relation)).toEqual([]);
  expect(judge(SIZE_CHECKS, { ...relation, indexBytes: 101_550_001 })).toMatchObject([
    {
      level: 'notice',
      check: 'bloat',
      found: 'the indexes of delay take 97 MiB for 1,000 rows',
      sql: 'REINDEX TABLE CONCURRENTLY "q".delay',
    },
  ]);
});
