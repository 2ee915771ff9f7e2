import { setTimeout as pause } from 'node:timers/promises';
import type { DelayService } from 'nestjs-delay-queue';
import type { Depth } from './depth.js';
import { type Environment, rateOf } from './environment.js';
import type { Jobs } from './jobs.js';

/** After a call that failed. The harness stops Postgres, too. */
const AFTER_FAILURE_MS = 200;

/** Adds jobs at the rate of the harness, or as many as are missing. */
export class Producer {
  /** A second. */
  rate: number;
  #credit = 0;
  #creditedAtMs = performance.now();

  constructor(
    private readonly delays: DelayService,
    private readonly jobs: Jobs,
    private readonly environment: Environment,
    private readonly depth: Depth,
  ) {
    this.rate = environment.perSecond;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { batchMax, batchMs } = this.environment;
    while (!stop.aborted) {
      const count = Math.min(batchMax, await this.#due());
      if (count > 0) await this.#add(count);
      // A full batch is followed by the next one at once: more is owed.
      if (count < batchMax) await pause(batchMs, null, { signal: stop }).catch(() => {});
    }
  }

  /** How many jobs are owed by now. */
  async #due(): Promise<number> {
    const { mode, targetDepth } = this.environment;
    if (mode === 'depth-target') return Math.max(0, targetDepth - (await this.depth.count()));
    this.rate = rateOf(this.environment);
    const nowMs = performance.now();
    // By the time that passed, as the contract says, and not by the number of turns.
    this.#credit += (this.rate * (nowMs - this.#creditedAtMs)) / 1_000;
    this.#creditedAtMs = nowMs;
    return Math.floor(this.#credit);
  }

  async #add(count: number): Promise<void> {
    const startedAtMs = performance.now();
    try {
      await this.delays.scheduleMany(this.jobs.next(count));
    } catch (error) {
      process.stderr.write(`adding ${count} jobs: ${String(error)}\n`);
      await pause(AFTER_FAILURE_MS);
      return;
    }
    if (this.environment.mode === 'fixed') this.#credit -= count;
    this.jobs.scheduled += count;
    const tookMs = performance.now() - startedAtMs;
    for (let n = 0; n < count; n += 1) this.jobs.added.note(tookMs);
  }
}
