import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { cancelOneSql, scheduleOneSql } from '../../src/delay-queue/store/tables/functions.js';
import { tablesOf } from '../../src/delay-queue/database/tables.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

/** The functions of the schema, by which callers write in their transactions. */
const tables = tablesOf('delay_queue');
const ROWS = 20_000;

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await database.drop();
});

const schedule = (key: string) =>
  client.query(scheduleOneSql(tables), ['a', key, '{}', 60_000, null, null, null, null]);
const cancel = (key: string) => client.query(cancelOneSql(tables), ['a', key, 'ends']);

/** Rows that this session has read lately: of the table as a whole, and by its keys. */
async function reads(): Promise<{ whole: number; byKey: number }> {
  const { rows } = await client.query<{ whole: number; by_key: number }>(
    `SELECT pg_stat_get_xact_tuples_returned('delay_queue.delay'::regclass)::int AS whole,
            pg_stat_get_xact_tuples_returned('delay_queue.delay_key'::regclass)::int AS by_key`,
  );
  const [row] = rows;
  return { whole: row?.whole ?? -1, byKey: row?.by_key ?? -1 };
}

describe('the plans that a session keeps', () => {
  it.each([
    ['without statistics', ''],
    ['with statistics that say so', 'ANALYZE delay_queue.delay'],
  ])('for an empty table, %s, are good for a full one', async (_, statistics) => {
    await client.query(
      `ALTER TABLE delay_queue.delay SET (autovacuum_enabled = off); ${statistics}`,
    );
    for (let time = 0; time < 10; time += 1) {
      await schedule('first');
      await cancel('first');
    }
    await client.query(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       SELECT 'a', n, '{}', now(), now(), now() FROM generate_series(1, ${ROWS}) n`,
    );
    await client.query('BEGIN');
    const before = await reads();
    expect((await schedule('new')).rows).toHaveLength(1);
    expect((await schedule('7')).rows).toHaveLength(0);
    expect((await cancel('8')).rows).toHaveLength(1);
    expect((await cancel('absent')).rows).toHaveLength(0);
    const after = await reads();
    await client.query('ROLLBACK');
    expect(after.whole - before.whole).toBe(0);
    expect(after.byKey - before.byKey).toBeLessThan(10);
  });
});

it('nothing of a caller is changed: not his settings, and not whom he acts for', async () => {
  const asks = `SELECT current_setting('enable_seqscan') AS seqscan, current_user AS who`;
  const before = (await client.query(asks)).rows;
  await client.query('BEGIN');
  await schedule('k');
  await cancel('k');
  expect((await client.query(asks)).rows).toEqual(before);
  await client.query('ROLLBACK');
  const { rows } = await client.query(
    `SELECT proname, prosecdef FROM pg_proc WHERE pronamespace = 'delay_queue'::regnamespace ORDER BY 1`,
  );
  expect(rows).toEqual([
    { proname: 'cancel_one', prosecdef: false },
    { proname: 'schedule_one', prosecdef: false },
  ]);
});
