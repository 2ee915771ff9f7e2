import { setTimeout as pause } from 'node:timers/promises';
import type { DelayAdmin } from 'nestjs-delay-queue';
import { JOB } from './jobs.js';

const EVERY_MS = 500;

/** How many jobs wait: due, and not begun. */
export class Depth {
  /** As it was counted last. */
  value = 0;

  constructor(private readonly admin: DelayAdmin) {}

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.count();
      await pause(EVERY_MS, null, { signal: stop }).catch(() => {});
    }
  }

  /** Anew; as it was when Postgres does not answer. */
  async count(): Promise<number> {
    try {
      const { names } = await this.admin.stats();
      this.value = names.find(({ name }) => name === JOB)?.overdue ?? 0;
    } catch (error) {
      process.stderr.write(`counting jobs: ${String(error)}\n`);
    }
    return this.value;
  }
}
