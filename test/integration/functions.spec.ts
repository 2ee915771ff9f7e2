import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startNode } from '../support/delay-node.js';
import { cancelOneSql, qualifiedTables, scheduleOneSql } from '../support/statements.js';

/** The functions of the schema, by which callers write in their transactions. */
const tables = qualifiedTables('delay_queue');
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

/** What the function answers; null: it wrote nothing. */
const call = async (sql: string, parameters: unknown[]): Promise<string | null | undefined> =>
  (await client.query<{ answer: string | null }>(sql, parameters)).rows[0]?.answer;
const schedule = (key: string) =>
  call(scheduleOneSql(tables), ['a', key, '{}', 60_000, null, null, null, null]);
const cancel = (key: string, history = 'ends') => call(cancelOneSql(tables), ['a', key, history]);

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
      for (const history of ['ends', 'nothing']) {
        await schedule('first');
        await cancel('first', history);
      }
    }
    await client.query(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
       SELECT 'a', k, '{}', now(), now(), now()
       FROM generate_series(1, ${ROWS}) n, LATERAL (VALUES (n::text), (n || '-ends'), (n || '-nothing')) v(k)`,
    );
    await client.query('BEGIN');
    const before = await reads();
    expect(await schedule('new')).toMatch(/^\d+ \d+ \d+$/);
    expect(await schedule('7')).toBeNull();
    for (const history of ['ends', 'nothing']) {
      expect(await cancel(`8-${history}`, history)).toMatch(/^\d+ \d+$/);
      expect(await cancel('absent', history)).toBeNull();
    }
    const after = await reads();
    await client.query('ROLLBACK');
    expect(after.whole - before.whole).toBe(0);
    expect(after.byKey - before.byKey).toBeLessThan(10);
  });
});

describe('a call waits for no session', () => {
  let other: Client;

  beforeEach(async () => {
    other = new Client({ connectionString: database.url });
    await other.connect();
    await schedule('k');
    await client.query(`SET lock_timeout = '1ms'`);
    await other.query('BEGIN');
  });

  afterEach(() => other.end());

  it.each([
    ['moves', 'UPDATE delay_queue.delay SET epoch = epoch + 1'],
    ['removes', 'DELETE FROM delay_queue.delay'],
  ])('that %s the row of its key', async (_, write) => {
    await other.query(write);
    expect(await schedule('k')).toBeNull();
    for (const history of ['ends', 'nothing']) expect(await cancel('k', history)).toBeNull();
    await other.query('ROLLBACK');
    expect(await cancel('k')).not.toBeNull();
  });
});

it.each(['nothing', 'ends', 'attempts'])(
  'a cancel answers by the row, where history keeps %s and a trigger drops its lines',
  async (history) => {
    await client.query(
      `CREATE FUNCTION drop_line() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER drop_line BEFORE INSERT ON delay_queue.history FOR EACH ROW EXECUTE FUNCTION drop_line()`,
    );
    const [id, dueMs] = (await schedule('k'))!.split(' ');
    expect(await cancel('k', history)).toBe(`${id} ${dueMs}`);
    expect(await cancel('k')).toBeNull();
  },
);

it('a caller may discard what its session keeps, also within the transaction', async () => {
  const node = await startNode({ url: database.url, options: { worker: false } });
  const runner = node.dataSource.createQueryRunner();
  const { manager } = runner;
  const options = { key: 'k', after: '1h', manager } as const;
  for (const discard of ['DEALLOCATE ALL', 'DISCARD PLANS', `SET LOCAL search_path = 'none'`]) {
    await runner.query('DISCARD ALL');
    await runner.startTransaction();
    await node.delays.schedule('test.a', { n: 1 }, options);
    await runner.query(discard);
    expect(await node.delays.cancel('test.a', 'k', { manager })).toMatchObject({
      verdict: 'cancelled',
    });
    await runner.query(discard);
    expect(await node.delays.schedule('test.a', { n: 1 }, options)).toMatchObject({
      verdict: 'scheduled',
    });
    await runner.rollbackTransaction();
  }
  await runner.release();
  await node.stop();
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
    `SELECT proname FROM pg_proc WHERE pronamespace = 'delay_queue'::regnamespace AND NOT prosecdef ORDER BY 1`,
  );
  expect(rows).toEqual([{ proname: 'cancel_one' }, { proname: 'schedule_one' }]);
});
