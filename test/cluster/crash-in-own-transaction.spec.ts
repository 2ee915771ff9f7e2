import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import { until } from '../support/until.js';

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('CREATE TABLE effect (id text)');
});

afterEach(async () => {
  await client.end();
  await database.drop({ force: true });
});

const start = (standsStill = '') =>
  NodeProcess.start<{ stands: string }>('test/cluster/fixtures/own-transaction.ts', {
    env: { DATABASE_URL: database.url, STANDS_STILL: standsStill },
  });

it.each([
  ['before COMMIT', 2],
  ['behind COMMIT', 1],
])(
  "a process that dies %s of a handler's own transaction leaves one effect, after %i attempts",
  async (where, attempts) => {
    await client.query(`SELECT delay_queue.schedule('test.own', after => '0', key => 'k')`);
    const dying = start(where);
    await dying.waitFor(({ stands }) => stands === where);
    await dying.kill('SIGKILL');
    const survivor = start();
    const ended = await until(
      async () =>
        (
          await client.query<{ state: string; attempts: number }>(
            `SELECT state, attempts FROM delay_queue.history`,
          )
        ).rows,
      ({ length }) => length > 0,
    );
    await survivor.kill('SIGKILL');
    expect(ended).toEqual([{ state: 'completed', attempts }]);
    const { rows } = await client.query(
      'SELECT (SELECT count(*)::int FROM effect) AS effects, (SELECT count(*)::int FROM delay_queue.delay) AS delays',
    );
    expect(rows).toEqual([{ effects: 1, delays: 0 }]);
  },
);
