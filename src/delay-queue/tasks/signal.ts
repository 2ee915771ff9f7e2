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
