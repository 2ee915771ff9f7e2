import { setTimeout as pause } from 'node:timers/promises';
import type { BenchProcess } from './bench-process.js';
import type { WorkerReport } from './protocol.js';

const LOOK_EVERY_MS = 20;

/** Nothing new for so long: what is missing now counts as lost. */
const GIVE_UP_AFTER_MS = 30_000;

/** Time for a run that should not have been, before everything is counted. */
const AFTERMATH_MS = 300;

/** Waits until the workers together are done with `count` delays, or make no progress any more. */
export async function awaitSettled(
  workers: readonly BenchProcess[],
  count: number,
): Promise<WorkerReport[]> {
  let [settled, progressAtMs] = [0, performance.now()];
  while (settled < count && performance.now() - progressAtMs < GIVE_UP_AFTER_MS) {
    await pause(LOOK_EVERY_MS);
    for (const worker of workers) worker.check();
    const now = workers.reduce((total, worker) => total + worker.settled, 0);
    if (now > settled) progressAtMs = performance.now();
    settled = now;
  }
  await pause(AFTERMATH_MS);
  return Promise.all(workers.map((worker) => worker.ask({ type: 'report' }, 'report')));
}
