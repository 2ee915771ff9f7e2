import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

const held: Served = { does: 'hold', fenced: true, timeout: '60s' };
const ABORT = { running: 'abort', abortWithin: '30s' } as const;

const histories = () => cluster.sql('SELECT key, state FROM delay_queue.history ORDER BY key');

it('an attempt in another process is ended, and leaves no effect', async () => {
  const worker = await cluster.worker('worker', { serves: { 'test.held': held } });
  const { delays } = await cluster.producer();
  await delays.schedule('test.held', null, { after: 0, key: 'k' });
  await worker.waitFor(({ holding }) => holding === 'k');
  expect(await delays.cancel('test.held', 'k', ABORT)).toMatchObject({ verdict: 'cancelled' });
  await worker.waitFor(({ aborted }) => aborted === 'k');
  expect(await cluster.ledger()).toEqual([]);
  expect(await histories()).toEqual([{ key: 'k', state: 'cancelled' }]);
});

it('what a paused process runs is running; it hears of it when it goes on', async () => {
  const worker = await cluster.worker('worker', { serves: { 'test.held': held } });
  const { delays } = await cluster.producer();
  await delays.schedule('test.held', null, { after: 0, key: 'k' });
  await worker.waitFor(({ holding }) => holding === 'k');
  await worker.kill('SIGSTOP');
  const told = await delays.cancel('test.held', 'k', { running: 'abort', abortWithin: '1s' });
  expect(told).toMatchObject({ verdict: 'running' });
  expect(await cluster.sql('SELECT attempts FROM delay_queue.delay')).toEqual([{ attempts: 1 }]);
  await worker.kill('SIGCONT');
  // What was asked meanwhile is heard now: the attempt ends, and the delay runs again.
  await worker.waitFor(({ aborted }) => aborted === 'k');
  await worker.waitFor(() => worker.messages.filter(({ holding }) => holding).length === 2);
  worker.send({ go: 'k' });
  await cluster.quiet();
  expect(await cluster.ledger()).toMatchObject([{ key: 'k', attempt: 1 }]);
});

it('when the process that runs it is killed meanwhile, the end of its lease decides', async () => {
  const worker = await cluster.worker('worker', {
    serves: { 'test.held': { ...held, timeout: '2s' } },
    options: { lease: '2s' },
  });
  const { delays } = await cluster.producer();
  await delays.schedule('test.held', null, { after: 0, key: 'k' });
  await worker.waitFor(({ holding }) => holding === 'k');
  await worker.kill('SIGSTOP');
  const cancelled = delays.cancel('test.held', 'k', ABORT);
  await worker.kill('SIGKILL');
  expect(await cancelled).toMatchObject({ verdict: 'cancelled' });
  expect(await cluster.ledger()).toEqual([]);
});
