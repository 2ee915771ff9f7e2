import { expect, it } from '@jest/globals';
import { currentRun, onServer } from '../support/test-run.js';
import { Cluster } from './support/cluster.js';
import { IS_LISTENER } from '../support/listener.js';

const cluster = new Cluster();

const serves = { 'test.hinted': { does: 'note' } } as const;

/** A sweep is far away: only a hint, or a load, can be the reason why something fires. */
const withLoads = (loadEvery: '59s' | '300ms') =>
  ({ rareSweeps: true, options: { loadEvery, horizon: '60s', lease: '30m' } }) as const;

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
  const worker = await cluster.worker('worker', serves, withLoads('59s'));
  const producer = await cluster.producer();
  const schedule = (key: string, options = {}) =>
    producer.delays.schedule('test.hinted', null, { after: 200, key, ...options });
  await schedule('heard');
  await cluster.quiet();
  // Its hint names no group: the node reads the row.
  await schedule('heard, of a group', { group: 'customer-7' });
  await cluster.quiet();

  await connections(false);
  expect(
    await cluster.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${LISTENER}`),
  ).toHaveLength(1);
  await worker.waitFor(({ event, key }) => event === 'taskFailed' && key === 'listen');
  await schedule('said while none listens');
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
  expect(ledger.map(({ key }) => key)).toEqual([
    'heard',
    'heard, of a group',
    'said while none listens',
    'heard again',
  ]);
});

it('a delay whose hint never comes is found by the loader', async () => {
  await cluster.worker('worker', serves, withLoads('300ms'));
  // Written behind the back of every node.
  await cluster.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT 'test.hinted', 'ignoreRejection', 'null', at, at, at
     FROM (SELECT date_trunc('milliseconds', clock_timestamp()) + interval '1 second' AS at) AS due`,
  );
  await cluster.quiet();
  expect((await cluster.ledger()).map(({ key }) => key)).toEqual(['ignoreRejection']);
});
