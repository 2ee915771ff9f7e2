/** Something that happens now and then, and that any number of callers may wait for. */
export class Moment {
  #next: Promise<void> | undefined;
  #resolve: () => void = () => {};

  /** Resolves when it happens next. */
  get next(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#next;
  }

  happens(): void {
    this.#next = undefined;
    this.#resolve();
  }
}
