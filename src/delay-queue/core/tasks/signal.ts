/**
 * Something that others may want to know. The sender does not know its listeners, so the listener
 * imports the sender and never the reverse. Listeners are called at once, in order of registration.
 */
export class Signal<Told = void> {
  readonly #listeners: ((told: Told) => void)[] = [];

  on(listener: (told: Told) => void): void {
    this.#listeners.push(listener);
  }

  emit(told: Told): void {
    for (const listener of this.#listeners) listener(told);
  }
}

/** An event that repeats and that any number of callers may await. */
export class Condition {
  #next: Promise<void> | undefined;
  #resolve: () => void = () => {};

  get next(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#next;
  }

  notify(): void {
    this.#next = undefined;
    this.#resolve();
  }
}

/** Result of `within` when the time is over. */
export const LATE: unique symbol = Symbol('late');

/**
 * Resolves to what `work` does, or to `LATE` after `ms`. The work goes on; its late result or error
 * is dropped.
 * @param ref false: the wait does not keep the process alive
 * @throws what `work` throws in time
 */
export async function within<Value>(
  work: Promise<Value>,
  ms: number,
  { ref = true }: { ref?: boolean } = {},
): Promise<Value | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), ms);
    if (!ref) timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
