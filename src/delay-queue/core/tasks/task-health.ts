import type { DelayEvents } from '../api/events.js';

/** Background tasks that are retried after a failure, as events and the log name them. */
export type Task =
  | 'abort'
  | 'begin'
  | 'claim'
  | 'complete'
  | 'deadLetter'
  | 'declare'
  | 'hint'
  | 'leave'
  | 'listen'
  | 'load'
  | 'lookup'
  | 'prune'
  | 'renew'
  | 'rerun'
  | 'scan';

/** Wake-ups of tasks that pause after a failure, by the events that they report to. */
const pausing = new WeakMap<DelayEvents, Set<() => void>>();

/**
 * Reports failures of one task: `taskFailed` at each failure, `taskRecovered` once when it works again.
 * Each task's pauses grow separately. The first task that works again ends the pauses of all
 * others, since the same cause held them back.
 */
export class TaskHealth {
  #failing = false;
  readonly #pausing: Set<() => void>;

  constructor(
    private readonly events: DelayEvents,
    private readonly task: Task,
  ) {
    this.#pausing = pausing.get(events) ?? new Set();
    pausing.set(events, this.#pausing);
  }

  failed(error: unknown): void {
    this.#failing = true;
    this.events.emit('taskFailed', { task: this.task, error });
  }

  worked(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.events.emit('taskRecovered', { task: this.task });
    // A copy: a task that fails again at once pauses again, outside of this round.
    const woken = [...this.#pausing];
    this.#pausing.clear();
    for (const wake of woken) wake();
  }

  /** Calls `wake` once, when another task works again. @returns a function that cancels that */
  whenAnotherWorks(wake: () => void): () => void {
    this.#pausing.add(wake);
    return () => void this.#pausing.delete(wake);
  }

  /** Pauses for `ms`, or until another task works again. Does not keep the process alive. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        off();
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      const off = this.whenAnotherWorks(end);
    });
  }
}
