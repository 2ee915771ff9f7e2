import type { Attempt } from '../execution/call/attempt.js';

/** The attempts this node runs now. A delay that moved on may run beside its own earlier attempt. */
export class InFlight {
  /** The latest attempt of each delay. */
  readonly #byId = new Map<number, Attempt>();
  /** Earlier attempts of delays that moved on: there are hardly ever any. */
  readonly #earlier = new Set<Attempt>();
  #idle: (() => void) | undefined;

  get size(): number {
    return this.#byId.size + this.#earlier.size;
  }

  add(attempt: Attempt): void {
    const earlier = this.#byId.get(attempt.id);
    if (earlier !== undefined && earlier !== attempt) this.#earlier.add(earlier);
    this.#byId.set(attempt.id, attempt);
  }

  delete(attempt: Attempt): void {
    if (this.#byId.get(attempt.id) === attempt) this.#byId.delete(attempt.id);
    else this.#earlier.delete(attempt);
    if (this.size === 0) this.#idle?.();
  }

  /**
   * Whether that very claim runs here, or a later one of that row: what was read of the row then
   * needs no looking after. A page that was read before the claim may be heard of after it.
   */
  covers(id: number, epoch: number): boolean {
    const attempt = this.#byId.get(id);
    return attempt !== undefined && attempt.epoch >= epoch;
  }

  all(): Attempt[] {
    return [...this.#byId.values(), ...this.#earlier];
  }

  /** Resolves when nothing is in flight, or after `withinMs`. */
  async whenIdle(withinMs: number): Promise<void> {
    if (this.size === 0) return;
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
