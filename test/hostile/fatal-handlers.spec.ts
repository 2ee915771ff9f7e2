import { expect, it } from '@jest/globals';
import { Cluster } from '../cluster/support/cluster.js';
import type { Served } from '../cluster/support/worker.protocol.js';

const cluster = new Cluster();

const once = { timeout: 300, maxAttempts: 1 } as const;

/** Node ends a process for what nobody catches, and so it should. The delay must not do it for ever. */
const FATAL: Record<`test.${string}`, Served> = {
  'test.rejectionThatNobodyHandles': { does: 'reject', ...once },
  'test.errorInListenerOfItsSignal': { does: 'throw-later', ...once },
  'test.abort': { does: 'abort', ...once },
};
const NAMES = Object.keys(FATAL) as `test.${string}`[];

it('what nobody catches ends the process, and then it is a dead letter', async () => {
  const { delays } = await cluster.producer();
  for (const name of NAMES) await delays.schedule(name, null, { after: 0, key: 'k' });
  await Promise.all(
    NAMES.map(async (name) => {
      const dying = await cluster.worker(name, { [name]: FATAL[name]! });
      expect((await dying.exited).code).not.toBe(0);
    }),
  );
  expect(
    await cluster.sql('SELECT DISTINCT attempts, leased_by IS NULL AS free FROM delay_queue.delay'),
  ).toEqual([{ attempts: 1, free: false }]);

  const survivor = await cluster.worker('survivor', FATAL);
  await cluster.quiet();
  for (const name of NAMES) {
    expect(await delays.find(name, 'k')).toMatchObject({ state: 'dead', attempts: 1 });
  }
  expect(await survivor.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
