import type { DelayEvents } from '../../delay/delay.events.js';
import { retryPauseMs } from '../../tasks/growing-pause.js';
import { Trouble } from '../../tasks/trouble.js';

/**
 * How long calls rest while the transactions of attempts cannot begin: for longer after each failure in
 * a row. Else what is due would be claimed and given back as fast as the database refuses.
 */
export class BeginRest {
  readonly #trouble: Trouble;
  #failures = 0;
  #restUntilMs = -Infinity;

  constructor(events: DelayEvents) {
    this.#trouble = new Trouble(events, 'begin');
  }

  worked(): void {
    this.#failures = 0;
    this.#restUntilMs = -Infinity;
    this.#trouble.worked();
  }

  /** Calls it once, when something else works again. @returns what calls that off */
  whenAnotherWorks(wake: () => void): () => void {
    return this.#trouble.whenAnotherWorks(() => {
      this.#restUntilMs = -Infinity;
      wake();
    });
  }

  /**
   * A transaction that fails while others rest already counts as the same failure.
   *
   * @param nowMs `performance.now()`
   * @returns how long the call rests, in milliseconds
   */
  failed(error: unknown, nowMs: number): number {
    this.#trouble.failed(error);
    if (nowMs >= this.#restUntilMs) {
      this.#failures += 1;
      this.#restUntilMs = nowMs + retryPauseMs(this.#failures);
    }
    return this.#restUntilMs - nowMs;
  }
}
