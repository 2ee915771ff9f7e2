import { CHECKED, invariant } from './invariant.js';
import { Condition, within } from './signal.js';

/** Counts pieces of work that are outstanding. */
export class Outstanding {
  size = 0;
  readonly #none = new Condition();

  add(): void {
    this.size += 1;
  }

  done(): void {
    this.size -= 1;
    if (CHECKED) invariant(this.size >= 0, 'outstanding work', this.size);
    if (this.size === 0) this.#none.notify();
  }

  /**
   * Resolves when nothing is outstanding, or after `withinMs`. Keeps the process alive, as no pause
   * does.
   */
  async whenEmpty(withinMs: number): Promise<void> {
    if (this.size > 0) await within(this.#none.next, withinMs);
  }
}
