import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { randomOf } from '../../src/random.js';
import { Cluster, type Worker } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

/** Enough to last for all deploys. */
const DEPLOYED = 1_200;

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

const note: Served = { does: 'note', concurrency: 5 };

it('one process after another is sent SIGTERM at some moment under load: each delay runs once, by its first attempt', async () => {
  const random = randomOf('deploys');
  const names = ['test.plain', 'test.fenced'] as const;
  const { delays } = await cluster.producer();
  await delays.scheduleMany(
    Array.from({ length: DEPLOYED }, (_, n) => ({
      name: names[n % 2]!,
      payload: null,
      key: `k${n}`,
      after: n,
    })),
  );
  const next = (nodeName: string): Promise<Worker> =>
    cluster.worker(nodeName, {
      serves: { 'test.plain': note, 'test.fenced': { ...note, fenced: true } },
      options: { lease: '60s', timeout: '60s' },
    });
  for (let deploy = 1; deploy <= 3; deploy += 1) {
    const worker = await next(`n${deploy}`);
    // The moment is left to chance; that each process is in the middle of something is not.
    await cluster.until(`SELECT FROM ledger WHERE node = $1`, (rows) => rows.length > 0, [
      worker.nodeName,
    ]);
    await pause(random.integer(0, 100));
    expect(await cluster.sql('SELECT FROM delay_queue.delay LIMIT 1')).toHaveLength(1);
    const exit = worker.kill('SIGTERM');
    void worker.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
  }
  await next('last');
  await cluster.quiet();
  expect(
    await cluster.sql(
      `SELECT state, attempts, count(*)::int AS count FROM delay_queue.history GROUP BY 1, 2`,
    ),
  ).toEqual([{ state: 'completed', attempts: 1, count: DEPLOYED }]);
  expect(
    await cluster.sql(
      'SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys FROM ledger',
    ),
  ).toEqual([{ lines: DEPLOYED, keys: DEPLOYED }]);
});
