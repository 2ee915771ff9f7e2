import type { Attempt } from './attempt.js';

/** The attempts this node runs now, by id. */
export class InFlight {
  readonly #attempts = new Map<number, Attempt>();
  #idle: (() => void) | undefined;

  get size(): number {
    return this.#attempts.size;
  }

  add(attempt: Attempt): void {
    this.#attempts.set(attempt.id, attempt);
  }

  delete(attempt: Attempt): void {
    if (this.#attempts.get(attempt.id) === attempt) this.#attempts.delete(attempt.id);
    if (this.#attempts.size === 0) this.#idle?.();
  }

  /** Whether that very claim runs here: its row needs no looking after. */
  has(id: number, epoch: number): boolean {
    return this.#attempts.get(id)?.epoch === epoch;
  }

  all(): Attempt[] {
    return [...this.#attempts.values()];
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
