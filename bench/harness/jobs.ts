import { setTimeout as pause } from 'node:timers/promises';
import type { Type } from '@nestjs/common';
import { type Delay, OnDelay } from 'nestjs-delay-queue';
import type { Environment } from './environment.js';
import { Latencies } from './latencies.js';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'harness.job': { atMs: number; padding: string };
  }
}

export const JOB = 'harness.job';

/** Name, braces and the time of a payload. */
const FRAME_BYTES = 40;

/** What happened to the jobs of this process. */
export class Jobs {
  scheduled = 0;
  completed = 0;
  /** From the call that adds a job until that call is answered. */
  readonly added = new Latencies();
  /** Until its handler begins. */
  readonly begun = new Latencies();
  /** Until its handler returns. */
  readonly done = new Latencies();
  readonly #padding: string;

  constructor({ payloadBytes }: Environment) {
    this.#padding = 'x'.repeat(Math.max(0, payloadBytes - FRAME_BYTES));
  }

  next(count: number) {
    const payload = { atMs: Date.now(), padding: this.#padding };
    return Array.from({ length: count }, () => ({ name: JOB, payload, after: 0 }) as const);
  }
}

/** A provider whose handler works for as long as the harness says. */
export function workerOf(jobs: Jobs, { workers, workMs }: Environment): Type {
  class Worker {
    @OnDelay(JOB, { concurrency: workers })
    async work({ payload: { atMs } }: Delay<typeof JOB>): Promise<void> {
      jobs.begun.note(Date.now() - atMs);
      if (workMs > 0) await pause(workMs);
      jobs.done.note(Date.now() - atMs);
    }
  }
  return Worker;
}
