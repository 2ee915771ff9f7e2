/**
 * Work that others ask for as often as they like, and that is done at once, but then not again before its pause is over.
 * Each login that may connect to the database can ask by a hint, so what it costs must not depend on how often.
 */
export class Paced {
  #timer: NodeJS.Timeout | undefined;
  #lastAtMs = -Infinity;
  #stopped = false;

  constructor(
    private readonly work: () => void,
    private readonly pauseMs: number,
  ) {}

  /** Works now, or, once for all who ask meanwhile, when the pause is over. */
  ask(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    const leftMs = this.#lastAtMs + this.pauseMs - performance.now();
    if (leftMs <= 0) this.#work();
    else this.#timer = setTimeout(() => this.#work(), leftMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #work(): void {
    this.#timer = undefined;
    this.#lastAtMs = performance.now();
    this.work();
  }
}
