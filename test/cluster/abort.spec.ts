import { expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const cluster = new Cluster();

const held: Served = { does: 'hold', fenced: true };

it('what a paused process runs is running; it hears of it when it goes on, or the end of its lease decides', async () => {
  const worker = await cluster.worker(
    'worker',
    { 'test.long': { ...held, timeout: '60s' }, 'test.short': { ...held, timeout: '2s' } },
    // So long that it does not end while the process is paused, also on a busy machine.
    { options: { lease: '8s' } },
  );
  const { delays } = await cluster.producer();
  const abort = (name: 'test.long' | 'test.short', abortWithin: '500ms' | '30s') =>
    delays.cancel(name, name, { running: 'abort', abortWithin });

  await cluster.held(worker, 'test.long');
  await worker.kill('SIGSTOP');
  expect(await abort('test.long', '500ms')).toMatchObject({ verdict: 'running' });
  await worker.kill('SIGCONT');
  // What was asked meanwhile is heard now: the attempt ends, and the delay runs again.
  await worker.waitFor(({ aborted }) => aborted === 'test.long');
  await worker.waitFor(() => worker.messages.filter(({ holding }) => holding).length === 2);
  worker.send({ go: 'test.long' });
  await cluster.quiet();
  expect(await cluster.ledger()).toMatchObject([{ key: 'test.long', attempt: 1 }]);

  await cluster.held(worker, 'test.short');
  await worker.kill('SIGSTOP');
  const cancelled = abort('test.short', '30s');
  await worker.kill('SIGKILL');
  expect(await cancelled).toMatchObject({ verdict: 'cancelled' });
  expect(await cluster.ledger()).toHaveLength(1);
});
