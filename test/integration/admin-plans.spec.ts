import { beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { explain, type Plan } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { FUTURE, fillDelays, SERVED, SOON } from '../support/full-tables.js';
import { HealthStore, type Runner, SelectionStore } from '../support/engine-parts.js';
import {
  operationChangesSql,
  operationsOfKeySql,
  operationsSql,
  qualifiedTables,
  type RowFilter,
} from '../support/statements.js';

/** What `DelayAdmin` reads of full tables. */
const GROUPS = 1_000;
const EACH = 20;

const database = fileDatabase();
let client: Client;
const TOP = { by: 'overdue', limit: 100 } as const;
const store = new SelectionStore('delay_queue');

beforeAll(async () => {
  client = await database.connect();
  await client.query(`
    INSERT INTO delay_queue.delay (name, group_id, payload, due_at, wake_at, created_at)
    SELECT 'test.full', 'm-' || lpad((n % ${GROUPS})::text, 4, '0'), '{}', at, at, now()
    FROM generate_series(1, ${GROUPS * EACH}) n, LATERAL (SELECT now() + n * interval '1 s') t(at);
    INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, group_id)
    SELECT n, now() - n * interval '1 s', now(), now(), 0, 1, 'completed', 'test.full', 'ended ' || n, 'g-' || lpad((n % 1000)::text, 4, '0')
    FROM generate_series(1, 100000) n;
    INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
    SELECT 'node ' || n, '{}', false, now(), now() + interval '1 hour' FROM generate_series(1, 8) n`);
  await fillDelays(client);
});

/** Plans of the statements of that call. */
async function plansOf(call: (runner: Runner) => Promise<unknown>): Promise<Plan[]> {
  const plans: Plan[] = [];
  await call({
    query: async <Row>(sql: string, parameters: unknown[]): Promise<Row[]> => {
      plans.push(await explain(client, sql, parameters));
      return [];
    },
  });
  return plans;
}

async function pagesOf(call: (runner: Runner) => Promise<unknown>): Promise<number> {
  return (await plansOf(call)).reduce((total, { buffers }) => total + buffers, 0);
}

it.each<[what: string, filter: RowFilter]>([
  ['a key of any name', { key: 'key 7000' }],
  ['few keys of any name', { keyPrefix: 'key 7000' }],
  ['a key of a name', { name: ['test.served'], key: 'key 7000' }],
  ['dead letters', { state: ['dead'] }],
  ['a few ids', { id: ['3', '7000', '90000'] }],
])('%s are found without reading all', async (_what, filter) => {
  const page = { behindId: 0, limit: 100 };
  const pages = await pagesOf((runner) => store.list(runner, filter, page, 30_000));
  expect(pages).toBeLessThan(FUTURE / 500);
  const counting = await pagesOf((runner) => store.countByState(runner, filter, 10_000));
  expect(counting).toBeLessThan(FUTURE / 500);
});

it('a count by state reads no more than its limit', async () => {
  const [plan] = await plansOf((runner) => store.countByState(runner, { name: [SERVED] }, 1_000));
  expect(plan!.scansOf('delay').map(({ rows }) => rows)).toEqual([1_000]);
});

it('operations, their changes and those of a key are found without reading all', async () => {
  await client.query(`
    INSERT INTO delay_queue.operation (id, started_at, seen_at, action, who, node, asked, counts, ended_as)
    SELECT n, now(), now(), 'cancel', 'a', 'n', '{}', '{}', 'done' FROM generate_series(1, 5000) n;
    INSERT INTO delay_queue.operation_change (operation_id, ord, delay_id, name, key, verdict)
    SELECT n % 5000 + 1, n, n, 'a', 'key ' || n, 'cancelled' FROM generate_series(1, 100000) n;
    ANALYZE delay_queue.operation, delay_queue.operation_change`);
  const tables = qualifiedTables('delay_queue');
  const reads: [sql: string, parameters: unknown[]][] = [
    [operationsSql(tables), [null, 4_000, 50]],
    [operationsOfKeySql(tables), [null, 'key 70000', 50]],
    [operationChangesSql(tables), [70, 0, 100]],
  ];
  for (const [sql, parameters] of reads) {
    expect((await explain(client, sql, parameters)).buffers).toBeLessThan(60);
  }
});

it.each<[what: string, filter: RowFilter, pages: number]>([
  ['a key', { key: 'key 7' }, 100],
  ['a group', { group: ['g-0500'] }, 130],
  ['a few groups', { groupPrefix: 'g-050' }, 1_100],
  ['all there is', {}, 130],
])('a page of the history of %s is found without reading all', async (_what, filter, most) => {
  const page = { behind: undefined, limit: 100 };
  const pages = await pagesOf((runner) => store.ended(runner, filter, page));
  expect(pages).toBeLessThan(most);
});

it('the last page of a group reads no more than the first', async () => {
  const behind = { endedUs: (Date.now() - 90_000_000) * 1e3, id: 1, epoch: 0 };
  const page = { behind, limit: 100 };
  const pages = await pagesOf((runner) => store.ended(runner, { group: ['g-0500'] }, page));
  expect(pages).toBeLessThan(130);
});

it('what each of many nodes runs is counted in one reading of the table', async () => {
  const { rows } = await client.query<{ pages: number }>(
    `SELECT (pg_relation_size('delay_queue.delay') / current_setting('block_size')::int)::int AS pages`,
  );
  const pages = await pagesOf((runner) => store.nodeStats(runner, 30_000));
  expect(pages).toBeLessThan(rows[0]!.pages * 2);
});

/** The newest delay of a name that is due, behind everything else. */
const LAST = `SELECT id::int FROM delay_queue.delay WHERE name = '${SERVED}' AND wake_at <= now()
  ORDER BY wake_at DESC, id DESC LIMIT 1`;

it.each<[what: string, target: { name: string; key: string } | string, pages: number]>([
  ['waits for its time', { name: SERVED, key: 'key 7000' }, 100],
  ['has ended', { name: 'test.full', key: 'ended 7000' }, 100],
  ['never was', { name: SERVED, key: 'never' }, 100],
  ['waits behind a crowd', LAST, 25_000],
  ['never was, by its id', 'SELECT 9999999 AS id', 11_000],
])('what %s is explained without reading all', async (_what, target, most) => {
  await client.query(`UPDATE delay_queue.node SET names = '{${SERVED}}' WHERE id = 'node 1'`);
  const [{ id }] =
    typeof target === 'string'
      ? ((await client.query<{ id: number }>(target)).rows as [{ id: number }])
      : [{ id: 0 }];
  const [plan] = await plansOf((runner) =>
    store.explain(runner, typeof target === 'string' ? { id } : target, 30_000).catch(() => {}),
  );
  const scans = ['delay', 'history', 'quota'].flatMap((table) => plan!.scansOf(table));
  expect(scans.map(({ type }) => type)).not.toContain('Seq Scan');
  expect(Math.max(...scans.map(({ rows }) => rows))).toBeLessThanOrEqual(10_001);
  expect(plan!.buffers).toBeLessThan(most);
});

it.each<[what: string, filter: RowFilter, groups: number]>([
  ['one group', { group: ['m-0500'] }, 1],
  ['the last groups', { groupPrefix: 'm-099' }, 10],
  ['dead letters', { state: ['dead'] }, 0],
])('groupStats read of %s no other row', async (_what, filter, groups) => {
  const [plan] = await plansOf((runner) => store.groupStats(runner, filter, TOP));
  const scans = plan!.scansOf('delay');
  expect(scans.map(({ type }) => type)).not.toContain('Seq Scan');
  const read = scans.reduce((total, { rows }) => total + rows, 0);
  expect(read).toBeLessThanOrEqual(groups * EACH);
  expect(plan!.buffers).toBeLessThan(groups * EACH * 1.2 + 50);
});

/** As of delays that wait on a node. */
const IDS = Array.from({ length: 50 }, (_, n) => n + 1);

it.each([
  ['the backlog', (health: HealthStore) => health.backlog(30_000, IDS), 10_000 + IDS.length],
  ['dead letters and what is due soon', (health: HealthStore) => health.vitals(30_000), SOON + 60],
])('health reads of %s what it shows, and nothing of the future', async (_what, read, rows) => {
  const [plan] = await plansOf((runner) =>
    read(new HealthStore(runner, { schema: 'delay_queue', clock: 'database' })).catch(() => {}),
  );
  const scans = plan!.scansOf('delay');
  expect(scans.map(({ type }) => type)).not.toContain('Seq Scan');
  expect(scans.reduce((total, each) => total + each.rows, 0)).toBeLessThanOrEqual(rows);
});
