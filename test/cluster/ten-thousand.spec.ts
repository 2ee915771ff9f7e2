import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES, type Worker } from './support/cluster.js';
import type { WorkerMessage } from './support/worker.protocol.js';

const COUNT = 10_000;

const cluster = new Cluster();

async function claimsOf(worker: Worker): Promise<NonNullable<WorkerMessage['claims']>> {
  worker.send({ count: true });
  return (await worker.waitFor(({ claims }) => claims !== undefined)).claims!;
}

it('two processes fire 10,000 delays: none twice, none lost, and they share the claims', async () => {
  const serves = { 'test.many': { does: 'note', concurrency: 50 } } as const;
  const workers = await Promise.all(
    ['a', 'b'].map((name) => cluster.worker(name, serves, KEEPS_LEASES)),
  );
  // Due in the same two seconds: hints, loads and sweeps of both nodes are at work.
  const { delays } = await cluster.producer();
  await delays.scheduleMany(
    Array.from({ length: COUNT }, (_, n) => ({
      name: 'test.many' as const,
      payload: n,
      key: String(n),
      after: 500 + (n % 2_000),
    })),
  );
  await cluster.quiet();

  const [ledger] = await cluster.sql<{ lines: number; delays: number; early: number }>(
    `SELECT count(*)::int AS lines, count(DISTINCT key)::int AS delays,
            (count(*) FILTER (WHERE at < due))::int AS early FROM ledger`,
  );
  expect(ledger).toEqual({ lines: COUNT, delays: COUNT, early: 0 });
  const history = await cluster.sql(
    'SELECT state, attempts, count(*)::int AS count FROM delay_queue.history GROUP BY 1, 2',
  );
  expect(history).toEqual([{ state: 'completed', attempts: 1, count: COUNT }]);

  const claims = await Promise.all(workers.map(claimsOf));
  for (const each of claims) expect(each.got).toBeGreaterThan(COUNT / 10);
  // Two nodes that each claimed everything would ask for 20,000.
  expect(claims.reduce((sum, { asked }) => sum + asked, 0)).toBeLessThan(COUNT * 1.5);
});
