import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';
import { plainHandler, signal, startNode } from '../support/delay-node.js';
import { until } from '../support/until.js';
import type { Served } from './support/worker.protocol.js';

const HEALTHY = 20;
const MAX_ATTEMPTS = 2;

const cluster = new Cluster();

it('a payload that kills its process ends as a dead letter, and its neighbours complete', async () => {
  const serves: Record<`test.${string}`, Served> = {
    'test.poison': { does: 'die', maxAttempts: MAX_ATTEMPTS },
    // Each death may take an attempt of one beside it along.
    'test.plain': { does: 'note', maxAttempts: MAX_ATTEMPTS + 1 },
    'test.fenced': { does: 'note', fenced: true, timeout: '1s', maxAttempts: MAX_ATTEMPTS + 1 },
  };
  await cluster.schedule('test.plain', HEALTHY);
  await cluster.schedule('test.poison', 1);
  await cluster.schedule('test.fenced', HEALTHY);
  for (let death = 1; death <= MAX_ATTEMPTS; death += 1) {
    const dying = await cluster.worker(`n${death}`, serves);
    expect(await dying.exited).toMatchObject({ signal: 'SIGKILL' });
  }
  // The last attempt is not to be lost to a busy machine.
  const patient = {
    ...serves,
    'test.fenced': { ...serves['test.fenced']!, timeout: '20s' },
  } as const;
  const survivor = await cluster.worker('survivor', patient, KEEPS_LEASES);
  await cluster.quiet();
  await survivor.kill();

  expect(
    await cluster.sql(
      'SELECT name, attempts, wake_at::text AS wake, leased_by FROM delay_queue.delay',
    ),
  ).toEqual([{ name: 'test.poison', attempts: MAX_ATTEMPTS, wake: 'infinity', leased_by: null }]);
  expect(
    await cluster.sql(
      'SELECT name, state, count(*)::int AS count FROM delay_queue.history GROUP BY 1, 2 ORDER BY 1',
    ),
  ).toEqual([
    { name: 'test.fenced', state: 'completed', count: HEALTHY },
    { name: 'test.plain', state: 'completed', count: HEALTHY },
  ]);
  expect([...(await cluster.timesDone('test.fenced')).values()]).toEqual(Array(HEALTHY).fill(1));
});

it('rows that come back from an expired lease run one at a time, apart from healthy ones', async () => {
  const STALLED = 3;
  await cluster.schedule('test.held', STALLED);
  await cluster.sql(
    `UPDATE delay_queue.delay SET attempts = 1, epoch = 1, leased_by = 'crashed', leased_until = wake_at`,
  );
  const begun: string[] = [];
  const gates = new Map<string, () => void>();
  const hold = async ({ key }: { key: string | null }): Promise<void> => {
    const gate = signal();
    gates.set(key!, gate.resolve);
    begun.push(key!);
    await gate.promise;
  };
  const node = await startNode({
    url: cluster.url,
    providers: [plainHandler('test.held', hold, { concurrency: 8 })],
  });
  try {
    for (let n = 1; n <= STALLED; n += 1) {
      // A healthy one that comes meanwhile is served at once: the others wait for their turn, not for a place.
      await node.delays.schedule('test.held', null, { after: 0, key: `healthy-${n}` });
      await until(
        () => begun.length,
        (length) => length === 2 * n,
      );
      expect(begun.filter((key) => key.startsWith('healthy'))).toHaveLength(n);
      gates.get(begun.findLast((key) => !key.startsWith('healthy'))!)!();
    }
  } finally {
    for (const go of gates.values()) go();
    await node.stop();
  }
});
