import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import { OF_THIS_DATABASE } from '../support/of-this-database.js';
import { until } from '../support/until.js';
import { campaignWhen, isCompleted, people } from './support/campaigns.js';
import { RunningShop } from './support/running-shop.js';

let database: TestDatabase;
let us: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  us = new Client(database.url);
  await us.connect();
});
afterAll(async () => {
  await us.end();
  await database.drop({ force: true });
});

const rowsOf = async (sql: string) => (await us.query(sql)).rows;

const delivered = () =>
  rowsOf(`SELECT id, recipient FROM sample_campaign_message ORDER BY recipient`);

/** Who waits for that lock. */
const WAITS = `FROM pg_locks
  WHERE locktype = 'advisory' AND objid = 42 AND NOT granted AND ${OF_THIS_DATABASE}`;

const stuck = () => rowsOf(`SELECT pid ${WAITS}`);

/** What is done there stands still for the second batch of those, until nobody holds the lock. */
const standStill = (table: string, when: string, [first, last]: [string, string]) =>
  us.query(
    `CREATE TRIGGER stand_still ${when} ON ${table} FOR EACH ROW
     WHEN (NEW.recipient BETWEEN '${first}' AND '${last}') EXECUTE FUNCTION stand_still()`,
  );

it('a process killed when a batch is marked and not sent, and another one sent and not written down: everybody gets the message once', async () => {
  await us.query(
    `CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NEW; END $$;
     SELECT pg_advisory_lock(42)`,
  );
  await standStill('sample_campaign_message', 'BEFORE INSERT', ['p-05', 'p-08']);
  await standStill('campaign_recipient', 'BEFORE UPDATE OF sent_at', ['q-05', 'q-08']);
  const everybody = { kiln: people(8), 'tea-house': people(8, 'q') };

  const victim = NodeProcess.start('test/e2e/fixtures/demo-process.ts', {
    env: { DATABASE_URL: database.url, HOST: '127.0.0.1', PORT: '0', MESSAGES_PER_SECOND: '4' },
  });
  const [, at] = await victim.waitForOutput(/listens on (\S+)\n/);
  const campaigns: string[] = [];
  for (const [merchant, recipients] of Object.entries(everybody)) {
    const created = await fetch(`http://${at}/campaigns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ merchant, at: new Date(), message: 'x', recipients }),
    });
    campaigns.push(((await created.json()) as { id: string }).id);
  }
  await until(stuck, (backends) => backends.length === 2);
  await victim.kill('SIGKILL');
  // What it had begun there is taken back.
  await us.query(`SELECT pg_terminate_backend(pid) ${WAITS}`);
  await until(stuck, (backends) => backends.length === 0);
  const before = await delivered();
  expect(before.map(({ recipient }) => recipient)).toEqual([...people(4), ...people(8, 'q')]);
  expect(await rowsOf(`SELECT FROM campaign_recipient WHERE state = 'SENDING'`)).toHaveLength(8);
  await us.query(`DROP FUNCTION stand_still CASCADE; SELECT pg_advisory_unlock(42)`);
  // Half a minute passes: what the killed one had claimed comes back when its lease is over.
  await us.query(
    `UPDATE delay_queue.delay SET leased_until = clock_timestamp() WHERE leased_by IS NOT NULL`,
  );

  const heir = await RunningShop.open({ messagesPerSecond: 4 }, database);
  for (const id of campaigns) {
    const { counts } = await campaignWhen(heir, id, isCompleted);
    expect(counts).toMatchObject({ total: 8, sent: 8 });
  }
  const after = await delivered();
  expect(after).toEqual(expect.arrayContaining(before));
  expect(after.map(({ recipient }) => recipient)).toEqual([...people(8), ...people(8, 'q')]);
  await heir.mustHold();
  await heir.stop();
}, 120_000);
