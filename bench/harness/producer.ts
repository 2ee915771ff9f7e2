import { setTimeout as pause } from 'node:timers/promises';
import type { DelayAdmin, DelayService } from 'nestjs-delay-queue';
import { type Environment, rateOf } from './environment.js';
import { JOB, type Jobs } from './jobs.js';

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

const COUNT_EVERY_MS = 500;

/** How many jobs wait: due, and not begun. */
export class Depth {
  /** As it was counted last. */
  value = 0;

  constructor(private readonly admin: DelayAdmin) {}

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.count();
      await pause(COUNT_EVERY_MS, null, { signal: stop }).catch(() => {});
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
