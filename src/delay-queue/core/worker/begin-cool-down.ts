import type { DelayEvents } from '../api/events.js';
import { retryPauseMs } from '../tasks/pauses.js';
import { TaskHealth } from '../tasks/task-health.js';

/**
 * How long calls cool down while attempts cannot begin their transactions: longer after each
 * failure in a row. Otherwise due delays would be claimed and given back as fast as the database
 * refuses.
 */
export class BeginCoolDown {
  readonly #health: TaskHealth;
  #failures = 0;
  #restUntilMs = -Infinity;

  constructor(events: DelayEvents) {
    this.#health = new TaskHealth(events, 'begin');
  }

  worked(): void {
    this.#failures = 0;
    this.#restUntilMs = -Infinity;
    this.#health.worked();
  }

  /** Calls `wake` once, when another task works again. @returns a function that cancels that */
  whenAnotherWorks(wake: () => void): () => void {
    return this.#health.whenAnotherWorks(() => {
      this.#restUntilMs = -Infinity;
      wake();
    });
  }

  /**
   * Transactions that fail during a cool-down count as the same failure.
   * @param nowMs `performance.now()`
   * @returns how long the call cools down, in milliseconds
   */
  failed(error: unknown, nowMs: number): number {
    this.#health.failed(error);
    if (nowMs >= this.#restUntilMs) {
      this.#failures += 1;
      this.#restUntilMs = nowMs + retryPauseMs(this.#failures);
    }
    return this.#restUntilMs - nowMs;
  }
}
