import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { fileDatabase } from '../support/file-database.js';
import { OF_THIS_DATABASE } from '../support/of-this-database.js';
import { until } from '../support/until.js';
import {
  claimSql,
  completeSql,
  exhaustedSql,
  isClaimLost,
  qualifiedTables,
  removeAllSql,
  renewSql,
  retrySql,
} from '../support/statements.js';

/**
 * What a statement does about a row that somebody changes and commits after its snapshot was taken and
 * before it comes to lock it: the one moment in which Postgres looks at a newer version than it has seen.
 */
const tables = qualifiedTables('delay_queue');
const ID = 1;
const EPOCH = 1;
const NODE = 'node-1';
const GATE = 42;

const WAITS_AT_GATE = `
  SELECT FROM pg_locks
  WHERE locktype = 'advisory' AND NOT granted AND objid = $1::int AND ${OF_THIS_DATABASE}`;

const STATEMENTS: Record<string, [sql: string, parameters: unknown[]]> = {
  claim: [claimSql(tables, 'ends'), [[ID], [EPOCH], [1_000], [9], NODE, [true], 7]],
  complete: [completeSql(tables, 'ends'), [[ID], [EPOCH], [1]]],
  'complete without history': [completeSql(tables, 'nothing'), [[ID], [EPOCH], [1]]],
  settle: [retrySql(tables, 'ends'), [[ID], [EPOCH], [1], [false], [0], [true], ['no'], NODE]],
  renew: [renewSql(tables), [[ID], [EPOCH], 1_000]],
  bury: [exhaustedSql(tables), [[ID], [EPOCH], [0], 'no']],
};

/** Waits, once it has its snapshot, for whoever holds the gate. */
function gated(sql: string): string {
  const text = sql.replace(
    /FROM unnest\((.*?)\)\s+AS /s,
    (unnested) =>
      `FROM (SELECT pg_advisory_xact_lock_shared(${GATE})) AS gate, ${unnested.slice(5)}`,
  );
  const alias = /AS gate, unnest\(.*?\)\s+AS (\w+)\(/s.exec(text)?.[1];
  if (alias === undefined) throw new Error('the statement does not begin with an unnest any more');
  return text.replace(
    'SELECT * FROM (SELECT pg_advisory',
    `SELECT ${alias}.* FROM (SELECT pg_advisory`,
  );
}

const database = fileDatabase();
let runs: Client;
let changes: Client;

beforeAll(async () => {
  runs = await database.connect();
  changes = await database.connect();
});

/** Runs the statement; at the gate, the change is made and committed. */
async function answerOf(
  [sql, parameters]: readonly [sql: string, parameters: unknown[]],
  change?: string,
): Promise<{ id: string }[]> {
  await changes.query('TRUNCATE delay_queue.delay RESTART IDENTITY');
  await changes.query(
    `INSERT INTO delay_queue.delay
       (name, payload, due_at, wake_at, created_at, epoch, leased_by, leased_until)
     SELECT 'test.changed', 'null', at, at, at, $1, $2, at
     FROM (SELECT now() - interval '1 minute' AS at) AS past`,
    [EPOCH, NODE],
  );
  await changes.query('SELECT pg_advisory_lock($1)', [GATE]);
  const answer = runs.query<{ id: string }>(gated(sql), parameters);
  await until(
    async () => (await changes.query(WAITS_AT_GATE, [GATE])).rowCount,
    (waiting) => waiting === 1,
  );
  if (change !== undefined) await changes.query(`UPDATE delay_queue.delay SET ${change}`);
  await changes.query('SELECT pg_advisory_unlock($1)', [GATE]);
  return (await answer).rows;
}

const left = async (): Promise<unknown[]> =>
  (await changes.query('SELECT epoch::int, attempts, last_error FROM delay_queue.delay')).rows;

/** `complete` answers what it did not do, all others what they did. */
const saysDone = (name: string, rows: readonly { id: string }[]): boolean =>
  (rows.length === 1) !== name.startsWith('complete');

describe.each(Object.entries(STATEMENTS))('%s', (name, statement) => {
  it('does its work when nothing is changed', async () => {
    expect(saysDone(name, await answerOf(statement))).toBe(true);
  });

  it.each([
    ['goes to another attempt', 'epoch = epoch + 1', EPOCH + 1],
    ['gets another lease', "leased_until = leased_until + interval '1 second'", EPOCH],
  ])('leaves a row alone that %s meanwhile, and says so', async (_, change, epoch) => {
    expect(saysDone(name, await answerOf(statement, change))).toBe(false);
    expect(await left()).toEqual([{ epoch, attempts: 0, last_error: null }]);
  });
});

describe('the removal of a batch', () => {
  // Without its limit, which would cut the wait at the gate.
  const patient = removeAllSql(tables, 'ends').replace(
    "'lock_timeout', '10'",
    "'lock_timeout', '0'",
  );
  const remove: [string, unknown[]] = [patient, [[ID], [EPOCH], [1]]];

  it.each([
    ['nothing is changed', undefined],
    ['the row gets another lease', "leased_until = leased_until + interval '1 second'"],
  ])('does its work when %s', async (_, change) => {
    await answerOf(remove, change);
    expect(await left()).toEqual([]);
  });

  it('fails when the row goes to another attempt, and leaves it alone', async () => {
    const lost = await answerOf(remove, 'epoch = epoch + 1').catch((error: unknown) => error);
    expect(isClaimLost(lost)).toBe(true);
    expect(await left()).toEqual([{ epoch: EPOCH + 1, attempts: 0, last_error: null }]);
  });
});
