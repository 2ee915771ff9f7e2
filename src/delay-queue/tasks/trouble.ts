import type { DelayEvents } from '../api/events.js';

/** What the engine does again when it failed, as the events and the log name it. */
export type Duty =
  | 'abort'
  | 'acknowledge'
  | 'begin'
  | 'bury'
  | 'claim'
  | 'declare'
  | 'hint'
  | 'leave'
  | 'listen'
  | 'load'
  | 'look'
  | 'prune'
  | 'renew'
  | 'rerun'
  | 'sweep';

/** Those that pause since they failed, by whom they tell of it: what wakes each. */
const pausing = new WeakMap<DelayEvents, Set<() => void>>();

/**
 * Tells of one duty: `trouble` each time it fails, `recovered` once when it works again. The pauses of each duty grow alone; the
 * first that works again ends those of all others, for what stood in its way stood in theirs.
 */
export class Trouble {
  #failing = false;
  readonly #pausing: Set<() => void>;

  constructor(
    private readonly events: DelayEvents,
    private readonly during: Duty,
  ) {
    this.#pausing = pausing.get(events) ?? new Set();
    pausing.set(events, this.#pausing);
  }

  failed(error: unknown): void {
    this.#failing = true;
    this.events.emit('trouble', { during: this.during, error });
  }

  worked(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.events.emit('recovered', { during: this.during });
    // One that fails again at once pauses again: not in this round.
    const woken = [...this.#pausing];
    this.#pausing.clear();
    for (const wake of woken) wake();
  }

  /** Calls it once, when another duty works again. @returns what calls that off */
  whenAnotherWorks(wake: () => void): () => void {
    this.#pausing.add(wake);
    return () => void this.#pausing.delete(wake);
  }

  /** Pauses, until another duty works again at most, and keeps no process alive by that. */
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
