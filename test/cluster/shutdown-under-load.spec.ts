import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { randomOf } from '../../src/random.js';
import { Cluster, type Worker } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

/** FullNames of each name to last for all deploys. */
const DEPLOYED = 400;
const NAMES = ['test.plain', 'test.fenced'] as const;

const cluster = new Cluster();

const note: Served = { does: 'note', concurrency: 5 };

it('one process after another is sent SIGTERM at some moment under load: each delay runs once, by its first attempt', async () => {
  const random = randomOf('deploys');
  for (const name of NAMES) await cluster.schedule(name, DEPLOYED, 1_200);
  const next = (nodeName: string): Promise<Worker> =>
    cluster.worker(
      nodeName,
      { 'test.plain': note, 'test.fenced': { ...note, fenced: true } },
      { options: { lease: '60s', timeout: '60s' } },
    );
  for (const nodeName of ['n1', 'n2']) {
    const worker = await next(nodeName);
    // The moment is left to chance; that each process is in the middle of something is not.
    await cluster.until(`SELECT FROM ledger WHERE node = $1`, (rows) => rows.length > 0, [
      nodeName,
    ]);
    await pause(random.integer(0, 50));
    expect(await cluster.sql('SELECT FROM delay_queue.delay LIMIT 1')).toHaveLength(1);
    const exit = worker.kill('SIGTERM');
    void worker.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
  }
  await next('last');
  await cluster.quiet();
  for (const name of NAMES) {
    const ends = (await cluster.ends(name)).map(({ state, attempts }) => `${state} ${attempts}`);
    expect(ends).toEqual(Array(DEPLOYED).fill('completed 1'));
    expect([...(await cluster.timesDone(name)).values()]).toEqual(Array(DEPLOYED).fill(1));
  }
});
