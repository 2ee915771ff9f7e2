import type { Wake } from '../../src/delay-queue/core/store/rows/delay-rows.js';
import { Job } from '../../src/delay-queue/core/worker/job.js';

let lastId = 0;

/** A job of its own delay, in the timing wheel unless told otherwise. */
export function job(odd: Partial<Job> = {}): Job {
  const usual = { epoch: 0, name: 'a', group: null, wakeMs: 0, stalled: false, failed: false };
  const wake: Wake = { id: ++lastId, ...usual, ...odd };
  return Object.assign(new Job(wake, 'wheel'), odd);
}
