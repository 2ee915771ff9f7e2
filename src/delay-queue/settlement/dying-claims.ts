import { Moment } from '../tasks/moment.js';
import { Signal } from '../tasks/signal.js';
import { within } from '../tasks/within.js';
import type { DyingClaim, HeldClaim } from './held-claim.js';
import type { InFlight } from './in-flight.js';

/** Claims whose attempt was the last, and whose names have a method for that. Their leases are kept meanwhile. */
export class DyingClaims {
  readonly told = new Signal<DyingClaim>();
  #size = 0;
  readonly #empty = new Moment();

  /** @param unwritten those whose leases are kept */
  constructor(private readonly unwritten: InFlight) {}

  /** Those that are not claimed anew, to die. */
  get size(): number {
    return this.#size;
  }

  add(claim: HeldClaim, error: string, cause: unknown, onOver: DyingClaim['over']): void {
    this.unwritten.add(claim);
    const leave = this.enter();
    const over: DyingClaim['over'] = (how) => {
      this.unwritten.delete(claim);
      leave();
      onOver(how);
    };
    this.told.tell({ claim, error, cause, over });
  }

  /** One more, whose process died. @returns what is to be called once when that is over */
  enter(): () => void {
    this.#size += 1;
    return () => {
      this.#size -= 1;
      if (this.#size === 0) this.#empty.happens();
    };
  }

  /** Resolves when there are none, or after `withinMs`. */
  async whenEmpty(withinMs: number): Promise<void> {
    if (this.#size > 0) await within(this.#empty.next, withinMs);
  }
}
