/**
 * How the transactions of attempts ask for READ COMMITTED: not at all, until a session was found that begins
 * with another level. To name the level is a statement more, and nearly all sessions begin with that one.
 */
export class IsolationLevel {
  #stated: 'READ COMMITTED' | undefined;

  /** What the next transaction names as its level; undefined if it leaves that to its session. */
  get stated(): 'READ COMMITTED' | undefined {
    return this.#stated;
  }

  /** A session began with another level: from now on each transaction names it. */
  state(): void {
    this.#stated = 'READ COMMITTED';
  }
}
