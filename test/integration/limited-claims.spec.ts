import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type Bound, LimitStore } from '../../src/delay-queue/store/limits/limit.store.js';
import { Stage } from './engine/support/stage.js';

/**
 * All delays of a group belong to one node, which counts in memory what it may ask for. The statement counts itself:
 * a node that has just come, or whose view of the others is old, asks for more than there may be.
 */

const NAME = 'test.limited';
const NO_LIMIT: Bound = { concurrency: 0, burst: 0, refillPerMs: 0 };

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
async function claimed(ids: readonly number[], perGroup: Bound): Promise<number[]> {
  const requests = ids.map((id) => ({ id, epoch: 0, leaseMs: 60_000, maxAttempts: 3 }));
  const { rows } = await store.claim(requests, [{ name: NAME, all: NO_LIMIT, perGroup }]);
  return rows.map(({ id }) => id).toSorted((a, b) => a - b);
}

it.each<[string, Bound]>([
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
