import { Moment } from '../tasks/moment.js';
import { within } from '../tasks/within.js';
import type { HeldClaim } from './held-claim.js';

/** The claims this node holds now. A delay that moved on may be claimed beside its own earlier claim. */
export class InFlight {
  /** The latest claim of each delay. */
  readonly #byId = new Map<number, HeldClaim>();
  /** Earlier claims of delays that moved on: there are hardly ever any. */
  readonly #earlier = new Set<HeldClaim>();
  readonly #idle = new Moment();

  get size(): number {
    return this.#byId.size + this.#earlier.size;
  }

  add(claim: HeldClaim): void {
    const earlier = this.#byId.get(claim.id);
    if (earlier !== undefined && earlier !== claim) this.#earlier.add(earlier);
    this.#byId.set(claim.id, claim);
  }

  delete(claim: HeldClaim): void {
    if (this.#byId.get(claim.id) === claim) this.#byId.delete(claim.id);
    else this.#earlier.delete(claim);
    if (this.size === 0) this.#idle.happens();
  }

  /**
   * Whether that very claim runs here, or a later one of that row: what was read of the row then
   * needs no looking after. A page that was read before the claim may be heard of after it.
   */
  covers(id: number, epoch: number): boolean {
    const claim = this.#byId.get(id);
    return claim !== undefined && claim.epoch >= epoch;
  }

  /** Whether an attempt of that delay runs here. */
  runs(id: number): boolean {
    return this.#byId.has(id);
  }

  /** These delays are being cancelled: those of them that run here, under that very claim, are to end. */
  abort(claims: readonly { id: number; epoch: number }[]): void {
    for (const { id, epoch } of claims) {
      const claim = this.#byId.get(id);
      if (claim?.epoch === epoch) claim.holder.abort(claim);
    }
  }

  /** The node is ending: tells all of them to give up. */
  close(): void {
    for (const { holder } of this.all()) holder.close();
  }

  all(): HeldClaim[] {
    return [...this.#byId.values(), ...this.#earlier];
  }

  /** Resolves when nothing is in flight, or after `withinMs`. */
  async whenIdle(withinMs: number): Promise<void> {
    if (this.size > 0) await within(this.#idle.next, withinMs);
  }
}
