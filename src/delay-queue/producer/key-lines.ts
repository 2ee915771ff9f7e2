/**
 * The calls about one key stand in line: each begins when the one before is answered. So they never
 * meet in one statement, see each other, and take effect in the order in which they were made. Calls
 * about other keys go past them.
 */
export class KeyLines {
  /** Who waits behind the call that is at it; a key that no call is about is missing. */
  readonly #behind = new Map<string, (() => void)[]>();

  /** Begins at once when nobody is before it. Whoever has entered leaves, when it is his turn. */
  enter(slot: string, begin: () => void): void {
    const behind = this.#behind.get(slot);
    if (behind !== undefined) {
      behind.push(begin);
      return;
    }
    this.#behind.set(slot, []);
    begin();
  }

  leave(slot: string): void {
    const next = this.#behind.get(slot)?.shift();
    if (next === undefined) this.#behind.delete(slot);
    else next();
  }
}
