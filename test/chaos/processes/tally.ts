import type { Delay, DelayEvents } from 'nestjs-delay-queue';
import type { Counts } from './process.protocol.js';

const none = (): Counts => ({ scheduled: 0, ended: 0, latenessMs: [] });

/** What this process has done since it told the last time, for the progress of the run. */
export class Tally {
  #counts = none();

  watch(events: DelayEvents): void {
    for (const event of ['completed', 'superseded', 'dead'] as const) {
      events.on(event, () => (this.#counts.ended += 1));
    }
  }

  scheduled(delays: number): void {
    this.#counts.scheduled += delays;
  }

  /** Retries, and what was late already when it was asked for, say nothing about the wheel. */
  started({
    attempt,
    dueAt,
    createdAt,
    latenessMs,
  }: Pick<Delay, 'attempt' | 'dueAt' | 'createdAt' | 'latenessMs'>): void {
    if (attempt === 1 && dueAt > createdAt) this.#counts.latenessMs.push(latenessMs);
  }

  take(): Counts {
    const taken = this.#counts;
    this.#counts = none();
    return taken;
  }
}
