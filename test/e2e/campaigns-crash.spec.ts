import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { people } from './support/campaigns.js';
import { SupervisedShop } from './support/supervised-shop.js';

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

const start = (): Promise<SupervisedShop> =>
  SupervisedShop.start(database.url, { MESSAGES_PER_SECOND: '5' });

/** Both of its processes at once, and first of all whoever would start them again. */
async function kill(shop: SupervisedShop): Promise<void> {
  const pids = (await shop.processes()).map(({ pid }) => pid!);
  const killed = shop.process.kill('SIGKILL');
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await killed;
}

const rowsOf = async (sql: string) => (await us.query(sql)).rows;

const delivered = () =>
  rowsOf(`SELECT id, recipient FROM sample_campaign_message ORDER BY recipient`);

const isStuck = async (): Promise<boolean> =>
  (await rowsOf(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted`))
    .length > 0;

/** The second batch stands still there, until its process is dead. */
const GAPS: [gap: string, table: string, when: string, deliveredMeanwhile: number][] = [
  ['marked, and not sent', 'sample_campaign_message', 'BEFORE INSERT', 5],
  ['sent, and not written down', 'campaign_recipient', 'BEFORE UPDATE OF sent_at', 10],
];

it.each(GAPS)(
  'a process killed when a batch is %s: everybody gets the message once',
  async (_gap, table, when, deliveredMeanwhile) => {
    const victim = await start();
    await us.query(
      `CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NEW; END $$;
       CREATE TRIGGER stand_still ${when} ON ${table}
         FOR EACH ROW WHEN (NEW.recipient > 'p-05') EXECUTE FUNCTION stand_still();
       SELECT pg_advisory_lock(42)`,
    );
    const created = await fetch(`${victim.url}/campaigns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        at: new Date().toISOString(),
        message: 'x',
        recipients: EVERYBODY,
      }),
    });
    const { id } = (await created.json()) as { id: string };
    await until(isStuck, Boolean);
    await kill(victim);
    const before = await delivered();
    expect(before).toHaveLength(deliveredMeanwhile);
    const sending = await rowsOf(`SELECT FROM campaign_recipient WHERE state = 'SENDING'`);
    expect(sending).toHaveLength(5);
    // The statement that stood still is taken back with its connection.
    await us.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = 42 AND NOT granted`,
    );
    await until(isStuck, (stuck) => !stuck);
    await us.query(`DROP TRIGGER stand_still ON ${table}; SELECT pg_advisory_unlock(42)`);
    // Half a minute passes: what the killed one had claimed comes back when its lease is over.
    await us.query(`UPDATE delay_queue.delay SET leased_until = clock_timestamp()`);

    const heir = await start();
    await until(
      () => rowsOf(`SELECT state FROM campaign`),
      ([campaign]) => campaign?.state === 'COMPLETED',
    );
    const after = await delivered();
    expect(after.map(({ recipient }) => recipient)).toEqual(EVERYBODY);
    expect(after).toEqual(expect.arrayContaining(before));
    const progress = await (await fetch(`${heir.url}/campaigns/${id}`)).json();
    expect(progress).toMatchObject({ counts: { total: 12, sent: 12 } });
    expect(await (await fetch(`${heir.url}/invariants`)).json()).toMatchObject({ ok: true });
    await heir.stop();
  },
  120_000,
);
