import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import { until } from '../support/until.js';
import { people } from './support/campaigns.js';

const EVERYBODY = people(12);

let database: TestDatabase;
let us: Client;

beforeEach(async () => {
  database = await createEmptyDatabase();
  us = new Client(database.url);
  await us.connect();
});
afterEach(async () => {
  await us.end();
  await database.drop({ force: true });
});

/** One process, as in production, and where it listens. */
async function start(): Promise<{ shop: NodeProcess; url: string }> {
  const shop = NodeProcess.start('src/main.ts', {
    args: ['--prod'],
    env: {
      DATABASE_URL: database.url,
      HOST: '127.0.0.1',
      PORT: '0',
      MESSAGES_PER_SECOND: '4',
    },
  });
  const [, at] = await shop.waitForOutput(/listens on (\S+)\n/);
  return { shop, url: `http://${at}` };
}

const rowsOf = async (sql: string) => (await us.query(sql)).rows;

const delivered = () =>
  rowsOf(`SELECT id, recipient FROM sample_campaign_message ORDER BY recipient`);

const isStuck = async (): Promise<boolean> =>
  (await rowsOf(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted`))
    .length > 0;

/** What is done there stands still for everybody after the one called so. */
const standStill = (table: string, when: string, after: string) =>
  us.query(
    `CREATE OR REPLACE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NEW; END $$;
     CREATE TRIGGER stand_still ${when} ON ${table}
       FOR EACH ROW WHEN (NEW.recipient > '${after}') EXECUTE FUNCTION stand_still();
     SELECT pg_advisory_lock(42)`,
  );

/** Kills the process that stands still, and takes back what it had begun there. */
async function killWhileStuck(shop: NodeProcess, table: string): Promise<void> {
  await until(isStuck, Boolean);
  await shop.kill('SIGKILL');
  await us.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = 42 AND NOT granted`);
  await until(isStuck, (stuck) => !stuck);
  await us.query(`DROP TRIGGER stand_still ON ${table}; SELECT pg_advisory_unlock(42)`);
  // Half a minute passes: what the killed one had claimed comes back when its lease is over.
  await us.query(
    `UPDATE delay_queue.delay SET leased_until = clock_timestamp() WHERE leased_by IS NOT NULL`,
  );
}

it('processes killed when a batch is marked and not sent, or sent and not written down: everybody gets the message once', async () => {
  const first = await start();
  await standStill('sample_campaign_message', 'BEFORE INSERT', 'p-04');
  const created = await fetch(`${first.url}/campaigns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ at: new Date().toISOString(), message: 'x', recipients: EVERYBODY }),
  });
  const { id } = (await created.json()) as { id: string };
  await killWhileStuck(first.shop, 'sample_campaign_message');
  expect(await delivered()).toHaveLength(4);
  expect(await rowsOf(`SELECT FROM campaign_recipient WHERE state = 'SENDING'`)).toHaveLength(4);

  await standStill('campaign_recipient', 'BEFORE UPDATE OF sent_at', 'p-08');
  const second = await start();
  await killWhileStuck(second.shop, 'campaign_recipient');
  const before = await delivered();
  expect(before).toHaveLength(12);
  expect(await rowsOf(`SELECT FROM campaign_recipient WHERE state = 'SENDING'`)).toHaveLength(4);

  const heir = await start();
  await until(
    () => rowsOf(`SELECT state FROM campaign`),
    ([campaign]) => campaign?.state === 'COMPLETED',
  );
  const after = await delivered();
  expect(after).toEqual(before);
  expect(after.map(({ recipient }) => recipient)).toEqual(EVERYBODY);
  const progress = await (await fetch(`${heir.url}/campaigns/${id}`)).json();
  expect(progress).toMatchObject({ counts: { total: 12, sent: 12 } });
  expect(await (await fetch(`${heir.url}/invariants`)).json()).toMatchObject({ ok: true });
  expect((await fetch(`${heir.url}/processes`)).status).toBe(404);
  expect(await heir.shop.kill('SIGTERM')).toEqual({ code: 0, signal: null });
}, 120_000);
