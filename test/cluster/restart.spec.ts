import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';

const MANY = 1_500;
const ORDERED = 50;

const cluster = new Cluster();

/** Ids run against the order of due, so that nobody can pass by going by id. */
const overdue = (name: string, count: number) =>
  cluster.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     SELECT $1, n::text, 'null', at, at, at
     FROM generate_series($2::int, 1, -1) AS n,
          LATERAL (SELECT date_trunc('seconds', clock_timestamp()) - interval '1 day'
                          + n * interval '1 second' AS at) AS due`,
    [name, count],
  );

it('what became due while no process ran fires after the start, oldest first', async () => {
  await overdue('test.many', MANY);
  await overdue('test.ordered', ORDERED);
  await cluster.worker(
    'restarted',
    {
      'test.many': { does: 'note', concurrency: 50 },
      // One at a time, so that the order shows.
      'test.ordered': { does: 'note', concurrency: 1 },
    },
    KEEPS_LEASES,
  );
  await cluster.quiet();
  expect([...(await cluster.timesDone('test.many')).values()]).toEqual(Array(MANY).fill(1));
  const ordered = (await cluster.ledger()).filter(({ name }) => name === 'test.ordered');
  expect(ordered.map(({ key }) => Number(key))).toEqual(
    Array.from({ length: ORDERED }, (_, n) => n + 1),
  );
});
