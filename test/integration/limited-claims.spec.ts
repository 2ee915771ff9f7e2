import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { explain } from '../support/explain.js';
import { Stage } from './engine/support/stage.js';
import {
  bring,
  claimLimitedSql,
  engineSettings,
  lockQuotasSql,
  qualifiedTables,
} from '../support/statements.js';
import { type LimitBound, LimitStore } from '../support/engine-parts.js';

/**
 * All delays of a group belong to one node, which counts in memory what it may ask for. The statement counts itself:
 * a node that has just come, or whose view of the others is old, asks for more than there may be.
 */

const NAME = 'test.limited';
const NO_LIMIT: LimitBound = { concurrency: 0, burst: 0, refillPerMs: 0 };

let stage: Stage;
let client: Client;
let store: LimitStore;

beforeEach(async () => {
  stage = await Stage.open();
  client = new Client({ connectionString: stage.url });
  await client.connect();
  const query = async (sql: string, parameters: unknown[]): Promise<never[]> =>
    (await client.query(sql, parameters)).rows as never[];
  const inTransaction = async <Result>(
    work: (runner: { query: typeof query }) => Promise<Result>,
  ): Promise<Result> => {
    await client.query('BEGIN');
    const result = await work({ query });
    await client.query('COMMIT');
    return result;
  };
  store = new LimitStore({ inTransaction }, 'delay_queue', 'nothing', 'here');
});

afterEach(async () => {
  await client.end();
  await stage.close();
});

/** Asks for all of these in that order. @returns the ids that were claimed */
async function claimed(ids: readonly number[], perGroup: LimitBound): Promise<number[]> {
  const requests = ids.map((id) => ({ id, epoch: 0, leaseMs: 60_000, maxAttempts: 3 }));
  const { rows } = await store.claim(requests, [{ name: NAME, all: NO_LIMIT, perGroup }]);
  return rows.map(({ id }) => id).toSorted((a, b) => a - b);
}

it('one that stands still with the locks of a limit stops the others for a moment only', async () => {
  await stage.sql(
    `INSERT INTO delay_queue.delay (id, name, payload, due_at, wake_at, created_at)
     OVERRIDING SYSTEM VALUE VALUES (1, '${NAME}', 'null', now(), now(), now())`,
  );
  const still = new Client({ connectionString: stage.url });
  still.on('error', () => {});
  await still.connect();
  const ended = new Promise((resolve) => still.once('end', resolve));
  await still.query('BEGIN');
  await still.query(lockQuotasSql(qualifiedTables('delay_queue')), [[1], [NAME], [true], [false]]);
  const all = { ...NO_LIMIT, concurrency: 1 };
  const requests = [{ id: 1, epoch: 0, leaseMs: 60_000, maxAttempts: 3 }];
  const { rows } = await store.claim(requests, [{ name: NAME, all, perGroup: NO_LIMIT }]);
  expect(rows).toHaveLength(1);
  await ended;
}, 20_000);

it('a claim reads what it is about, however many groups there are', async () => {
  const MANY = 20_000;
  await stage.sql(
    `INSERT INTO delay_queue.delay (id, name, group_id, payload, due_at, wake_at, created_at)
     OVERRIDING SYSTEM VALUE VALUES (1, '${NAME}', 'g1', 'null', now(), now(), now())`,
  );
  await stage.sql(
    `INSERT INTO delay_queue.quota (name, group_id, tokens, filled_at)
     SELECT '${NAME}', 'g' || n, 1, now() FROM generate_series(1, ${MANY}) AS n`,
  );
  await stage.sql(
    `INSERT INTO delay_queue.permit (id, epoch, name, group_id)
     SELECT n, 1, '${NAME}', 'g' || n FROM generate_series(1, ${MANY}) AS n`,
  );
  await bring(client, engineSettings(15_000), 'session ends');
  const claim = [['1'], ['0'], ['60000'], ['3'], 'here', ['f'], '0', [NAME]];
  const [all, perGroup] = [
    [['0'], ['0'], ['0']],
    [['1'], ['0'], ['0']],
  ];
  const sql = claimLimitedSql(qualifiedTables('delay_queue'), 'nothing');
  const plan = await explain(client, sql, [...claim, ...all, ...perGroup]);
  expect(plan.buffers).toBeLessThan(100);
});

it.each<[string, LimitBound]>([
  ['concurrency', { ...NO_LIMIT, concurrency: 2 }],
  ['rate', { ...NO_LIMIT, burst: 2, refillPerMs: 1e-9 }],
])('by its %s, a group begins with those asked for first, and others all', async (_, perGroup) => {
  await stage.sql(
    `INSERT INTO delay_queue.delay (id, name, group_id, payload, due_at, wake_at, created_at)
     OVERRIDING SYSTEM VALUE
     SELECT n, '${NAME}', CASE WHEN n <= 4 THEN 'a' WHEN n <= 6 THEN 'b' END, 'null', now(), now(), now()
     FROM generate_series(1, 8) AS n`,
  );
  expect(await claimed([8, 7, 6, 5, 4, 3, 2, 1], perGroup)).toEqual([3, 4, 5, 6, 7, 8]);
  // The first two hold their places.
  expect(await claimed([1, 2], perGroup)).toEqual([]);
});
