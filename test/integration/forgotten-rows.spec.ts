import { beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { fileDatabase } from '../support/file-database.js';
import { clientRunner } from '../support/other-node.js';
import { NodeStore } from '../support/engine-parts.js';

const DAY_MS = 86_400_000;
const AGE_MS = 2 * DAY_MS;

const database = fileDatabase();
let client: Client;
let store: NodeStore;

beforeAll(async () => {
  client = await database.connect();
  store = new NodeStore(clientRunner(client), 'delay_queue', 'node');
});

/** Inserts a row whose age is that of the interval `age`. */
const TABLES = {
  pause: `INSERT INTO delay_queue.pause (name, group_id, paused_at, until)
          SELECT 'a', n::text, now() - interval '9 days', now() - age FROM rows`,
  quota: `INSERT INTO delay_queue.quota (name, group_id, tokens, filled_at) SELECT 'a', n::text, 1, now() - age FROM rows`,
  node: `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at) SELECT n::text, '{}', false, now(), now() - age FROM rows`,
} as const;

it.each(['pause', 'quota', 'node'] as const)(
  'of the table %s what is old enough goes, no more than so many at a time, and how many is answered',
  async (table) => {
    await client.query(
      `WITH rows AS (
         SELECT n, CASE WHEN n <= 5 THEN interval '2 days 1 minute' ELSE interval '1 day 23 hours 59 minutes' END AS age
         FROM generate_series(1, 8) n)
       ${TABLES[table]}`,
    );
    const left = async (): Promise<number> =>
      Number((await client.query(`SELECT count(*) FROM delay_queue.${table}`)).rows[0].count);
    const counts: number[] = [];
    for (let times = 0; times < 4; times += 1) counts.push(await store.forget(table, AGE_MS, 2));
    expect([counts, await left()]).toEqual([[2, 2, 1, 0], 3]);
  },
);
