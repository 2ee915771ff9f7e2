import { setTimeout as pause } from 'node:timers/promises';
import type { Environment } from './environment.js';
import type { Jobs } from './jobs.js';
import { type Latencies, WINDOW_S } from './latencies.js';

/** What all processes have in common: the first one tells it. */
interface Common {
  depth(): number;
  rate(): number;
}

/** Writes a line of JSON to the harness for each figure. */
export class Sampler {
  constructor(
    private readonly system: string,
    private readonly environment: Environment,
    private readonly jobs: Jobs,
    private readonly common: Common,
  ) {}

  /** A record of the contract: what the adapter is, or a figure. */
  tell(record: Record<string, unknown>): void {
    const { instance } = this.environment;
    process.stdout.write(
      `${JSON.stringify({ ...record, system: this.system, instance_id: instance })}\n`,
    );
  }

  /** At each full `SAMPLE_EVERY_S` of the clock, so that those of all systems lie over each other. */
  async run(stop: AbortSignal): Promise<void> {
    const everyMs = this.environment.sampleEveryS * 1_000;
    let last = this.#counted();
    for (;;) {
      // One more: a timer may ring a millisecond early.
      const waitMs = everyMs - (Date.now() % everyMs) + 1;
      await pause(waitMs, null, { signal: stop }).catch(() => {});
      if (stop.aborted) return;
      const now = this.#counted();
      const seconds = (now.atMs - last.atMs) / 1_000;
      this.#sample(
        (now.scheduled - last.scheduled) / seconds,
        (now.completed - last.completed) / seconds,
      );
      last = now;
    }
  }

  #counted(): { scheduled: number; completed: number; atMs: number } {
    const { scheduled, completed } = this.jobs;
    return { scheduled, completed, atMs: performance.now() };
  }

  #sample(scheduledPerSecond: number, completedPerSecond: number): void {
    const { sampleEveryS, isFirst } = this.environment;
    const t = new Date().toISOString();
    const figure = (metric: string, value: number, window_s: number): void =>
      this.tell({
        t,
        kind: 'adapter',
        subject_kind: 'adapter',
        subject: '',
        metric,
        value,
        window_s,
      });
    const latencies: Record<string, Latencies> = {
      producer: this.jobs.added,
      claim: this.jobs.begun,
      subscriber: this.jobs.begun,
      end_to_end: this.jobs.done,
    };
    for (const [name, each] of Object.entries(latencies)) {
      for (const [percentile, ms] of Object.entries(each.percentiles())) {
        figure(`${name}_${percentile}_ms`, ms, WINDOW_S);
      }
    }
    figure('enqueue_rate', scheduledPerSecond, sampleEveryS);
    figure('completion_rate', completedPerSecond, sampleEveryS);
    if (!isFirst) return;
    figure('queue_depth', this.common.depth(), 0);
    figure('producer_target_rate', this.common.rate(), 0);
  }
}
