/**
 * Something that others may want to hear of. Who tells does not know who listens: so the listener imports the
 * teller, and never the other way round. Listeners are called at once, in the order in which they came.
 */
export class Signal<Told = void> {
  readonly #listeners: ((told: Told) => void)[] = [];

  on(listener: (told: Told) => void): void {
    this.#listeners.push(listener);
  }

  tell(told: Told): void {
    for (const listener of this.#listeners) listener(told);
  }
}

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

/** What `within` answers when the time is over. */
export const LATE: unique symbol = Symbol('late');

/**
 * What `work` answers, or `LATE` after `ms`. The work itself goes on, and its result is dropped,
 * also when it fails.
 *
 * @param ref false: the wait alone keeps no process alive
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
