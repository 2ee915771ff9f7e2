import type { Attempt } from './attempt.js';

/** The attempts this node runs now. A delay that moved on may run beside its own earlier attempt. */
export class InFlight {
  readonly #attempts = new Set<Attempt>();
  /** The latest attempt of each delay. */
  readonly #byId = new Map<number, Attempt>();
  #idle: (() => void) | undefined;

  get size(): number {
    return this.#attempts.size;
  }

  add(attempt: Attempt): void {
    this.#attempts.add(attempt);
    this.#byId.set(attempt.id, attempt);
  }

  delete(attempt: Attempt): void {
    this.#attempts.delete(attempt);
    if (this.#byId.get(attempt.id) === attempt) this.#byId.delete(attempt.id);
    if (this.#attempts.size === 0) this.#idle?.();
  }

  /** Whether that very claim runs here: its row needs no looking after. */
  has(id: number, epoch: number): boolean {
    return this.#byId.get(id)?.epoch === epoch;
  }

  all(): Attempt[] {
    return [...this.#attempts];
  }

  /** Resolves when nothing is in flight, or after `withinMs`. */
  async whenIdle(withinMs: number): Promise<void> {
    if (this.#attempts.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#idle = undefined;
  }
}
