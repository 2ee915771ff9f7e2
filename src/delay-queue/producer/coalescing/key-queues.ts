/**
 * The calls about one key stand in line: each begins when the one before is answered. So they never
 * meet in one statement, see each other, and take effect in the order in which they were made. Calls
 * about other keys go past them.
 */
export class KeyLines {
  /** Who waits behind the call that is at it, if anybody does; a key that no call is about is missing. */
  readonly #behind = new Map<string, (() => void)[] | undefined>();

  /** Whether nobody is before the call, which is at it now; whoever was there leaves in the end. */
  enter(slot: string): boolean {
    if (this.#behind.has(slot)) return false;
    this.#behind.set(slot, undefined);
    return true;
  }

  /** Stands in line, to begin when all before it have left. */
  wait(slot: string, begin: () => void): void {
    const behind = this.#behind.get(slot);
    if (behind === undefined) this.#behind.set(slot, [begin]);
    else behind.push(begin);
  }

  leave(slot: string): void {
    const next = this.#behind.get(slot)?.shift();
    if (next === undefined) this.#behind.delete(slot);
    else next();
  }
}
