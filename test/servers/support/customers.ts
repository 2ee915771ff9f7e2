/** Customers who place one order after another, whatever comes of it. */
export class Customers {
  readonly acknowledged = new Set<string>();
  /** What failed: it may have been committed all the same, or not. */
  readonly unknown = new Set<string>();
  readonly failures: unknown[] = [];
  readonly #day = new AbortController();
  readonly #gone: Promise<void>;

  /** @param place resolves when the order is committed */
  constructor(place: (key: string, n: number) => Promise<void>) {
    this.#gone = this.#come(place);
  }

  /** Nobody comes any more; resolves when the last one has an answer. */
  async leave(): Promise<void> {
    this.#day.abort();
    await this.#gone;
  }

  async #come(place: (key: string, n: number) => Promise<void>): Promise<void> {
    for (let n = 0; !this.#day.signal.aborted; n += 1) {
      const key = `order-${n}`;
      try {
        await place(key, n);
        this.acknowledged.add(key);
      } catch (error) {
        this.unknown.add(key);
        this.failures.push(error);
      }
    }
  }
}
