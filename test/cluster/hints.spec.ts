import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { currentRun, onServer } from '../support/test-run.js';
import { Cluster } from './support/cluster.js';
import { IS_LISTENER } from '../support/listener.js';

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

const serves = { 'test.hinted': { does: 'note' as const } };

const LISTENER = `application_name LIKE 'delay-queue worker%' AND ${IS_LISTENER}
                  AND datname = current_database()`;

/** Nobody gets a new connection to this database, or everybody again. */
async function connections(allowed: boolean): Promise<void> {
  const [row] = await cluster.sql<{ name: string }>('SELECT current_database() AS name');
  const text = `ALTER DATABASE ${row!.name} ALLOW_CONNECTIONS ${allowed}`;
  // Not possible from within.
  await onServer(currentRun(), (client) => client.query(text));
}

it('a process that only schedules is heard at once, and what it says to nobody is loaded', async () => {
  // The next load is a minute away, and a sweep is an hour away: only the hint can be the reason.
  const worker = await cluster.worker('worker', {
    serves,
    rareSweeps: true,
    options: { loadEvery: '59s', horizon: '60s', lease: '30m' },
  });
  const producer = await cluster.worker('producer', { options: { worker: false } });
  const schedule = async (key: string): Promise<void> => {
    producer.send({ schedule: { name: 'test.hinted', key, afterMs: 200 } });
    await producer.waitFor(({ scheduled }) => scheduled === key);
  };
  await schedule('heard');
  await cluster.quiet();

  await connections(false);
  expect(
    await cluster.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${LISTENER}`),
  ).toHaveLength(1);
  await worker.waitFor(({ event, key }) => event === 'trouble' && key === 'listen');
  await schedule('said to nobody');
  await connections(true);
  // A gap in listening ends with a load.
  await cluster.quiet();
  await cluster.until<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${LISTENER}`,
    ([row]) => row?.n === 1,
  );
  await schedule('heard again');
  await cluster.quiet();
  const ledger = await cluster.ledger();
  expect(ledger.map(({ key }) => key)).toEqual(['heard', 'said to nobody', 'heard again']);
});

it('a delay whose hint never comes is found by the loader', async () => {
  await cluster.worker('worker', {
    serves,
    rareSweeps: true,
    options: { loadEvery: '300ms', horizon: '60s', lease: '30m' },
  });
  // Written behind the back of every node: no hint, and no sweep for a quarter of an hour.
  await cluster.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT 'test.hinted', 'unheard', 'null', at, at, at
     FROM (SELECT date_trunc('milliseconds', clock_timestamp()) + interval '1 second' AS at) AS due`,
  );
  await cluster.quiet();
  expect((await cluster.ledger()).map(({ key }) => key)).toEqual(['unheard']);
});
