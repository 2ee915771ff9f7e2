import { DelayAbortedError, DelayShutdownError } from '../../delay/delay.errors.js';
import type { Outcome } from '../../settlement/outcome.js';
import type { Attempt } from './attempt.js';
import type { Stopping } from './outcome-of.js';

/** How a handler is told to give up, by `ctx.signal`, and what it means when it does. */
export class Stop {
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isClosing = false;
  /** These are being cancelled. */
  #aborted: Set<Attempt> | undefined;

  /** Made on demand: most handlers never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why a handler that gives up now loses no attempt; undefined when it does. */
  get kind(): Stopping | undefined {
    if (this.#aborted !== undefined) return 'aborted';
    return this.#isClosing ? 'released' : undefined;
  }

  /** The first reason stays. */
  because(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  /** The application is closing. */
  close(): void {
    this.#isClosing = true;
    this.because(new DelayShutdownError());
  }

  /**
   * Later in this turn: all those that are aborted together end together.
   * @param end told once
   */
  abort(attempt: Attempt, end: () => void): void {
    if (this.#aborted === undefined) {
      this.#aborted = new Set();
      queueMicrotask(() => {
        this.because(new DelayAbortedError());
        end();
      });
    }
    this.#aborted.add(attempt);
  }

  /** Nothing that fails while the node ends costs an attempt: its own clients may be closed by then. */
  ofAll(outcome: Outcome): Outcome {
    return this.#isClosing && outcome.kind === 'failed' ? { kind: 'released' } : outcome;
  }

  /** The others of a batch end with those that are aborted, and run again at once. */
  ofOne(attempt: Attempt, outcome: Outcome): Outcome {
    const isOther = outcome.kind === 'aborted' && this.#aborted?.has(attempt) !== true;
    return isOther ? { kind: 'released' } : outcome;
  }
}
