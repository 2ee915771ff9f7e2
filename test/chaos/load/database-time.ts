/** What a client thinks the database's clock shows. Its own wall clock may be hours off. */
export class DatabaseTime {
  /** The database's clock minus the monotonic one. */
  #aheadMs: number | undefined;

  /** Asked to be due in so long, at that monotonic instant, a delay is due then. */
  heard(afterMs: number, askedAtMs: number, dueAt: Date): void {
    this.#aheadMs = dueAt.getTime() - afterMs - askedAtMs;
  }

  /** Off by the time that an answer took; undefined before the first one. */
  nowMs(): number | undefined {
    return this.#aheadMs === undefined ? undefined : performance.now() + this.#aheadMs;
  }
}
