/** Claims without an answer that are remembered: as many as two of the largest, and their successors. */
const LOST_MAX = 20_000;

/**
 * Claims of this process whose answer never came. Such a claim may be committed long after it was
 * given up, when a synchronous replica is back, say. Its row then has this node's lease, and no handler runs
 * it: without this memory it would wait for the end of the lease, an attempt short. A row says only which
 * node has claimed it, and a process that was started again may have its predecessor's name: so what
 * counts is what this process remembers.
 */
export class LostClaims {
  /** The epoch that each would have given its row, by id. */
  readonly #epochs = new Map<number, number>();

  /** @param epoch what the row has if the claim was committed */
  add(id: number, epoch: number): void {
    // The latest stands last, so that the oldest goes when there is no room.
    this.#epochs.delete(id);
    this.#epochs.set(id, epoch);
    if (this.#epochs.size <= LOST_MAX) return;
    const [oldest] = this.#epochs.keys();
    if (oldest !== undefined) this.#epochs.delete(oldest);
  }

  /** Whether a row with that epoch is one of them. A later epoch proves that its claim is over. */
  has(id: number, epoch: number): boolean {
    const lost = this.#epochs.get(id);
    if (lost === undefined) return false;
    if (epoch > lost) this.#epochs.delete(id);
    return epoch === lost;
  }

  /** The row is gone, claimed with an answer, or given back. */
  forget(id: number): void {
    this.#epochs.delete(id);
  }
}
