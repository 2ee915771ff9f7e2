import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import {
  each,
  expectById,
  expectByKey,
  expectByLimit,
  expectLittle,
  keylessStatement,
  same,
  statementsById,
  statementsByKey,
  statementsOfExhausted,
  statementsOfLimits,
  statementsOfOne,
  statementsThatForget,
} from '../support/bulk-statements.js';
import { executionOf, explain, type Plan } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { fillDelays, FUTURE, HORIZON_MS, OVERDUE, SERVED, SOON } from '../support/full-tables.js';
import { FIRST_PAGE } from '../support/engine-parts.js';
import {
  claimSql,
  findSql,
  historySql,
  loadSql,
  pruneSql,
  qualifiedTables,
  removeOneSql,
  retrySql,
  sweepSql,
} from '../support/statements.js';

// oxlint-disable jest/expect-expect -- `expectById` and `expectByKey` expect

/** How each statement finds its rows in full tables, whatever the planner thinks it knows. */
const tables = qualifiedTables('delay_queue');
const NODE = 'node-1';
const BATCH = 500;

const database = fileDatabase();
let client: Client;

beforeAll(async () => {
  client = await database.connect();
  await fillDelays(client);
});

describe.each([1, 5_000])('about %d rows', (count) => {
  const [byId, byKey] = [statementsById(count), statementsByKey(count)];

  it.each(Object.keys(byId))('%s uses the primary key', async (name) => {
    expectById(await explain(client, ...byId[name]!), count);
  });

  it.each(Object.keys(byKey))('%s finds its rows by their keys', async (name) => {
    expectByKey(await explain(client, ...byKey[name]!), count);
  });

  it('an insert without keys reads nothing', async () => {
    const plan = await explain(client, ...keylessStatement(count));
    expect(plan.waysInto('delay')).toEqual([]);
    expect(plan.buffers).toBeLessThan(60 + count * 25);
  });
});

it.each([
  ['lockQuotas', 1],
  ['lockQuotas', BATCH],
  ['claimLimited', 1],
  ['claimLimited', BATCH],
])('%s of %d rows looks up each limit', async (name, count) => {
  expectByLimit(await explain(client, ...statementsOfLimits(count)[name]!), count);
});

it.each(Object.keys(statementsOfOne()))('%s uses the primary key', async (name) => {
  expectById(await explain(client, ...statementsOfOne()[name]!), 1);
});

it.each(Object.keys(statementsThatForget(BATCH)))('%s reads no more than it may', async (name) => {
  expectLittle(await explain(client, ...statementsThatForget(BATCH)[name]!), BATCH);
});

it.each(Object.keys(statementsOfExhausted(BATCH)))('%s uses the primary key', async (name) => {
  expectById(await explain(client, ...statementsOfExhausted(BATCH)[name]!), BATCH);
});

it('find uses the index of keys', async () => {
  const plan = await explain(client, findSql(tables), [SERVED, 'key 5']);
  expect(plan.waysInto('delay')).toEqual(['Index Scan delay_key']);
  expect(plan.buffers).toBeLessThan(20);
});

it('history of a key is found by its own index', async () => {
  const plan = await explain(client, historySql(tables), [SERVED, 'key 5', 100]);
  expect(plan.waysInto('history')).toEqual(['Index Scan history_key']);
  expect(plan.buffers).toBeLessThan(20);
});

it('history is pruned from its old end, and nothing else is looked at', async () => {
  const prune = (keepMs: number, names: string): Promise<Plan> =>
    explain(client, pruneSql(tables), [BATCH, ...FIRST_PAGE, keepMs, names, false, false]);
  const none = await prune(365 * 86_400_000, `{${SERVED}}`);
  expect(none.waysInto('history')[0]).toBe('Index Scan history_pkey');
  expect(none.buffers).toBeLessThan(30);
  // By name no index leads there: a page is read, in its order.
  const ofNoName = await prune(0, '{}');
  expect(ofNoName.waysInto('history')[0]).toBe('Index Scan history_pkey');
  expect(ofNoName.buffers).toBeLessThan(BATCH);
  const some = await prune(0, `{${SERVED}}`);
  expect(some.waysInto('history')).toEqual(['Index Scan history_pkey', 'Tid Scan undefined']);
  expect(some.buffers).toBeLessThan(BATCH * 20);
});

/** As Postgres decides it where no setting says which plans to keep: on the sessions of attempts. */
it.each([
  ['removal', removeOneSql(tables, 'ends'), [1, 0, 1]],
  ['removal that keeps attempts', removeOneSql(tables, 'attempts'), [1, 0, 1]],
  ['removal without history', removeOneSql(tables, 'nothing'), [1, 0]],
])('%s of one delay is planned for the first times alone', async (name, sql, parameters) => {
  const TIMES = 10;
  await client.query('BEGIN');
  await client.query(`PREPARE "${name}" AS ${sql}`);
  await client.query('SAVEPOINT whole');
  for (let time = 0; time < TIMES; time += 1) {
    await client.query(executionOf(name, parameters));
    // What was removed is there again.
    await client.query('ROLLBACK TO whole');
  }
  const { rows } = await client.query<{ kept: number }>(
    'SELECT generic_plans::int AS kept FROM pg_prepared_statements WHERE name = $1',
    [name],
  );
  const plan = await explain(client, executionOf(name, parameters), []);
  await client.query('ROLLBACK');
  expect(rows).toEqual([{ kept: TIMES - 5 }]);
  expect(plan.waysInto('delay')).toEqual(['Index Scan delay_pkey']);
});

it('a claim is a HOT update: it writes no indexed column and finds room on the page', async () => {
  let before = { all: 0, hot: 0 };
  /** Row versions written since the last look, and how many of them in place. */
  const updates = async () => {
    const { rows } = await client.query<{ all: number; hot: number }>(
      `SELECT pg_stat_get_xact_tuples_updated('delay_queue.delay'::regclass)::int AS all,
              pg_stat_get_xact_tuples_hot_updated('delay_queue.delay'::regclass)::int AS hot`,
    );
    const [{ all, hot } = before] = rows;
    const since = { all: all - before.all, hot: hot - before.hot };
    before = { all, hot };
    return since;
  };
  // The overdue ones lie side by side, as what comes due together does: full pages of them.
  const ids = each(BATCH, (n) => FUTURE + 1 + n);
  // What the tests above have written and taken back lies in the way otherwise.
  await client.query('VACUUM delay_queue.delay');
  const claim = [
    ids,
    same(BATCH, 0),
    same(BATCH, 30_000),
    same(BATCH, 9),
    NODE,
    same(BATCH, true),
    7,
  ];
  await client.query('BEGIN');
  await updates();
  const { rows } = await client.query(claimSql(tables, 'ends'), claim);
  expect(rows).toHaveLength(BATCH);
  const { all, hot } = await updates();
  expect(all).toBe(BATCH);
  // Nearly all: a leased row is a little larger, so the last one of a full page may not fit.
  expect(hot).toBeGreaterThan(BATCH * 0.8);
  // What moves `wake_at` cannot be one, which shows that the measurement measures.
  const moves = [same(BATCH, false), same(BATCH, 0), same(BATCH, true), same(BATCH, 'no')];
  const retry = [ids, same(BATCH, 1), same(BATCH, 1_000), ...moves, NODE];
  await client.query(retrySql(tables, 'ends'), retry);
  expect(await updates()).toEqual({ all: BATCH, hot: 0 });
  await client.query('ROLLBACK');
});

/** The walk through the wakes; others look into the index alone. Both bounds are the index's, not a filter's. */
function walkOf(plan: Plan): Plan['nodes'][number] {
  const scans = plan.scansOf('delay');
  for (const scan of scans) {
    expect(scan.type).toMatch(/^Index( Only)? Scan$/);
    expect(scan.index).toBe('delay_wake');
    expect(scan.indexCond).toMatch(/ROW\((d\.)?wake_at, (d\.)?id\) > ROW\(/);
    expect(scan.indexCond).toMatch(/wake_at <= /);
  }
  const walks = scans.filter(({ type }) => type === 'Index Scan');
  expect(walks).toHaveLength(1);
  return walks[0]!;
}

/** What nodes run over and over, in a table full of the future and of orphans. */
describe('of the rows in the order of their wakes', () => {
  const SHARES = [[SERVED], [1], [0]];
  const PAGE = 100;

  // What the tests above have written and taken back lies in the way otherwise.
  beforeAll(() => client.query('VACUUM delay_queue.delay'));

  const load = (fromMs: number, horizonMs: number, limit: number): Promise<Plan> => {
    const page = [Date.now() + fromMs, 0, horizonMs, limit, HORIZON_MS, false, null, 'instance'];
    return explain(client, loadSql(tables), [NODE, ...SHARES, ...page]);
  };

  const sweep = (fromMs: number | null, scan: number, limit: number): Promise<Plan> => {
    const cursor = fromMs === null ? null : Date.now() + fromMs;
    const page = [cursor, 0, scan, limit, null, 1_000, null, 7];
    return explain(client, sweepSql(tables), [...SHARES, ...page]);
  };

  // A page of 8 KiB holds dozens of rows; without bounds it would be thousands of pages.
  it.each([
    ['lie between its mark and the horizon', -300_000, HORIZON_MS, 5_000, OVERDUE + SOON, 1_000],
    ['are due, if any', 60_000, 120_000, 5_000, 0, 25],
    ['fit into its limit', -300_000, HORIZON_MS, PAGE, PAGE, 200],
  ])('a load reads those that %s', async (_, fromMs, horizonMs, limit, rows, buffersMax) => {
    const plan = await load(fromMs, horizonMs, limit);
    const walk = walkOf(plan);
    expect(walk.rows).toBe(rows);
    expect(walk.removedByFilter).toBe(0);
    expect(plan.buffers).toBeLessThan(buffersMax);
  });

  it.each([
    ['as many as it may, whatever orphans lie in front', null, 1_000, PAGE, 1_000, 1_000, 1_200],
    ['a page of those behind its cursor', -3_600_000, 1_000, PAGE, PAGE, PAGE, 1_200],
    ['none beyond now', -3_600_000, 10_000, 5_000, OVERDUE, OVERDUE + SOON, 1_500],
  ])('a sweep reads %s', async (_, fromMs, scan, limit, rowsMin, rowsMax, buffersMax) => {
    const plan = await sweep(fromMs, scan, limit);
    const { rows } = walkOf(plan);
    expect(rows).toBeGreaterThanOrEqual(rowsMin);
    expect(rows).toBeLessThanOrEqual(rowsMax);
    expect(plan.buffers).toBeLessThan(buffersMax);
  });

  it('a sweep with nothing overdue costs a handful of pages', async () => {
    const plan = await sweep(60_000, 10_000, PAGE);
    expect(plan.scansOf('delay').map(({ rows }) => rows)).toEqual([0, 0]);
    expect(plan.buffers).toBeLessThan(25);
  });
});
