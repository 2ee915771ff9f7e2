import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { tablesOf } from '../../../src/delay-queue/store/tables/schema.js';
import { claimSql } from '../../../src/delay-queue/store/sql/attempts/claim.sql.js';
import { completeSql } from '../../../src/delay-queue/store/sql/attempts/complete.sql.js';
import { loadSql } from '../../../src/delay-queue/store/sql/wakes/load.sql.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { plainHandler, startNode } from '../../support/delay-node.js';
import { explain } from '../../support/explain.js';

/** A million overdue rows of a name nobody serves, against an empty table. */
const ORPHANS = 1_000_000;
const BATCH = 100;
const SERVED = 'test.served';
const HORIZON_MS = 30_000;
const GRACE_MS = 5_000;

/** Pages more for each row: two look-ups, in indexes that are up to three levels higher. */
const HIGHER_INDEX_PAGES = 6;

const tables = tablesOf('delay_queue');

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

const insert = (name: string, count: number, secondsAgo: number) =>
  client.query(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT $1, 'null', at, at, at
     FROM generate_series(1, $2::int) AS n,
          LATERAL (SELECT date_trunc('milliseconds', clock_timestamp())
                          - $3::int * interval '1 second' + n * interval '1 ms' AS at) AS due`,
    [name, count, secondsAgo],
  );

/** Pages that the statements touch which every delay needs, for a batch that is due now. */
async function pages(): Promise<{ load: number; claim: number; complete: number }> {
  await insert(SERVED, BATCH, 1);
  await client.query('VACUUM ANALYZE delay_queue.delay');
  const { rows } = await client.query<{ ids: number[]; nowMs: number }>(
    `SELECT array_agg(id::float8) AS ids,
            (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"
     FROM delay_queue.delay WHERE name = $1`,
    [SERVED],
  );
  const { ids, nowMs } = rows[0]!;
  const each = <Value>(value: Value): Value[] => ids.map(() => value);
  const shares = [[SERVED], [1], [0]];
  const mark = nowMs - GRACE_MS;
  const load = await explain(client, loadSql(tables), [
    'node-1',
    ...shares,
    mark,
    0,
    HORIZON_MS,
    5_000,
    HORIZON_MS,
    false,
    null,
    'instance',
  ]);
  const claim = await explain(client, claimSql(tables), [
    ids,
    each(0),
    each(60_000),
    each(10),
    'node-1',
  ]);
  const complete = await explain(client, completeSql(tables, true), [ids, each(0), each(0)]);
  await client.query('DELETE FROM delay_queue.delay WHERE name = $1', [SERVED]);
  return { load: load.buffers, claim: claim.buffers, complete: complete.buffers };
}

it('a million overdue rows of a name nobody serves cost the other names nothing', async () => {
  const alone = await pages();
  await insert('test.orphan', ORPHANS, 7_200);
  const beside = await pages();
  for (const statement of ['load', 'claim', 'complete'] as const) {
    const most = alone[statement] + HIGHER_INDEX_PAGES * BATCH;
    expect({ statement, pages: beside[statement] <= most ? 'few' : beside[statement] }).toEqual({
      statement,
      pages: 'few',
    });
  }

  // And a node that starts there fires what is overdue behind them and what is new.
  await insert(SERVED, 1, 1);
  const node = await startNode({
    url: database.url,
    providers: [plainHandler(SERVED, () => {})],
  });
  try {
    const fired = node.next('completed', ({ key }) => key === 'new');
    const overdue = node.next('completed', ({ key }) => key === null);
    await node.delays.schedule(SERVED, null, { after: 100, key: 'new' });
    await Promise.all([fired, overdue]);
  } finally {
    await node.stop();
  }
  const { rows } = await client.query(
    'SELECT name, count(*)::int AS count, max(epoch)::int AS epoch FROM delay_queue.delay GROUP BY name',
  );
  expect(rows).toEqual([{ name: 'test.orphan', count: ORPHANS, epoch: 0 }]);
}, 180_000);
