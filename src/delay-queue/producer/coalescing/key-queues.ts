/**
 * Calls about the same name and key wait in a queue: each begins when the one before it is answered. So
 * two of them are never in one statement, each sees what the one before it wrote, and they take effect
 * in the order in which they were made. Calls about other keys do not wait for them.
 */
export class KeyQueues {
  /** By key, the calls that wait behind the call that has begun. A key without any call has no entry. */
  readonly #behind = new Map<string, (() => void)[] | undefined>();

  /** Whether the call may begin now, because no other call is before it. If so, the call has to leave when it ends. */
  enter(key: string): boolean {
    if (this.#behind.has(key)) return false;
    this.#behind.set(key, undefined);
    return true;
  }

  /** Puts a call into the queue; it begins when all calls before it have left. */
  wait(key: string, begin: () => void): void {
    const behind = this.#behind.get(key);
    if (behind === undefined) this.#behind.set(key, [begin]);
    else behind.push(begin);
  }

  leave(key: string): void {
    const next = this.#behind.get(key)?.shift();
    if (next === undefined) this.#behind.delete(key);
    else next();
  }
}
