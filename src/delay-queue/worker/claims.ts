import { CHECKED, invariant } from '../tasks/invariant.js';
import { Condition, within } from '../tasks/signal.js';
import type { Attempt } from './attempt.js';

/**
 * The claims that this node holds. A delay that moved on may be claimed beside its own earlier
 * claim.
 */
export class InFlight {
  /** The latest claim of each delay. */
  readonly #byId = new Map<number, Attempt>();
  /** Earlier claims of delays that moved on; hardly ever any. */
  readonly #earlier = new Set<Attempt>();
  readonly #idle = new Condition();

  get size(): number {
    return this.#byId.size + this.#earlier.size;
  }

  /** The successor of a delay that moved on may come first; then this is the earlier claim. */
  add(claim: Attempt): void {
    const known = this.#byId.get(claim.id);
    if (known === undefined || known.epoch < claim.epoch) this.#byId.set(claim.id, claim);
    if (known === undefined || known === claim) return;
    if (CHECKED) invariant(known.epoch !== claim.epoch, 'one claim of an epoch', claim.epoch);
    this.#earlier.add(known.epoch < claim.epoch ? known : claim);
  }

  delete(claim: Attempt): void {
    if (this.#byId.get(claim.id) === claim) this.#byId.delete(claim.id);
    else this.#earlier.delete(claim);
    if (this.size === 0) this.#idle.notify();
  }

  /**
   * Whether that claim or a later one of the row runs here: a page that was read before the claim
   * may arrive after it.
   */
  covers(id: number, epoch: number): boolean {
    const claim = this.#byId.get(id);
    return claim !== undefined && claim.epoch >= epoch;
  }

  /** What is known of the attempt of that delay; undefined: this node does not hold it. */
  held(id: number): { hasCalled: boolean; pid: number | undefined } | undefined {
    const claim = this.#byId.get(id);
    return claim && { hasCalled: !Number.isNaN(claim.calledAtMs), pid: claim.holder.pid };
  }

  /** Whether an attempt of that delay runs here. */
  runs(id: number): boolean {
    return this.#byId.has(id);
  }

  /** These delays are being cancelled: ends the attempts that run here under those claims. */
  abort(claims: readonly { id: number; epoch: number }[]): void {
    for (const { id, epoch } of claims) {
      const claim = this.#byId.get(id);
      if (claim?.epoch === epoch) claim.holder.abort(claim);
    }
  }

  /** The node is ending: tells all handlers to give up. */
  close(): void {
    for (const { holder } of this.all()) holder.close();
  }

  all(): Attempt[] {
    return [...this.#byId.values(), ...this.#earlier];
  }

  /** Resolves when nothing is in flight, or after `withinMs`. */
  async whenIdle(withinMs: number): Promise<void> {
    if (this.size > 0) await within(this.#idle.next, withinMs);
  }
}

/** As many as two of the largest claims, and their successors. */
const LOST_MAX = 20_000;

/**
 * Claims of this process that were never answered. Such a claim may be committed long after it was
 * given up, for example when a synchronous replica is back. Its row then has this node's lease
 * while no handler runs it; unremembered, it would wait for the end of the lease and lose an
 * attempt. The row names only the node, which a restarted process shares with its predecessor.
 */
export class LostClaims {
  /** The epoch that each would have given its row, by id. */
  readonly #epochs = new Map<number, number>();

  /** @param epoch what the row has if the claim was committed */
  add(id: number, epoch: number): void {
    // The latest comes last, and the oldest is dropped when there is no room.
    this.#epochs.delete(id);
    this.#epochs.set(id, epoch);
    if (this.#epochs.size <= LOST_MAX) return;
    const [oldest] = this.#epochs.keys();
    if (oldest !== undefined) this.#epochs.delete(oldest);
  }

  /** Whether the row has such a claim. A later epoch proves that the claim is over. */
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
