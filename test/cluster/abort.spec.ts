import { expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const cluster = new Cluster();

const held: Served = { does: 'hold', fenced: true };

it('what a paused process runs is running; it hears of it when it goes on, or the end of its lease decides', async () => {
  const worker = await cluster.worker(
    'worker',
    { 'test.long': { ...held, timeout: '60s' }, 'test.short': { ...held, timeout: '2s' } },
    { options: { lease: '2s' } },
  );
  const { delays } = await cluster.producer();
  for (const name of ['test.long', 'test.short'] as const) {
    await delays.schedule(name, null, { after: 0, key: name });
    await worker.waitFor(({ holding }) => holding === name);
    if (name === 'test.short') continue;
    await worker.kill('SIGSTOP');
    const told = await delays.cancel(name, name, { running: 'abort', abortWithin: '500ms' });
    expect(told).toMatchObject({ verdict: 'running' });
    await worker.kill('SIGCONT');
    // What was asked meanwhile is heard now: the attempt ends, and the delay runs again.
    await worker.waitFor(({ aborted }) => aborted === name);
    await worker.waitFor(() => worker.messages.filter(({ holding }) => holding).length === 2);
    worker.send({ go: name });
    await cluster.quiet();
    expect(await cluster.ledger()).toMatchObject([{ key: name, attempt: 1 }]);
  }
  await worker.kill('SIGSTOP');
  const cancelled = delays.cancel('test.short', 'test.short', {
    running: 'abort',
    abortWithin: '30s',
  });
  await worker.kill('SIGKILL');
  expect(await cancelled).toMatchObject({ verdict: 'cancelled' });
  expect(await cluster.ledger()).toHaveLength(1);
});
