import type { DelayRepeat } from '../delay/time/repeat.js';
import { Recurrence, type StoredRepeat } from './recurrence.js';

/** The database's clock, as the claim has read it. An estimate could be ahead of it, and name an instant that has not come. */
export interface ClaimsClock {
  readonly readMs: number;
  /** So late it is by now at least. */
  leastMs(): number;
}

/** One run of a delay that recurs. */
export class Occurrence {
  /** The instant that it stands for: what its handler hears as due. */
  readonly dueMs: number;
  readonly #recurrence: Recurrence;

  /**
   * @param dueMs of the row
   * @throws when the row says what this node cannot read
   */
  constructor(
    private readonly repeat: StoredRepeat,
    dueMs: number,
    private readonly clock: ClaimsClock,
  ) {
    this.#recurrence = new Recurrence(repeat);
    this.dueMs = this.#recurrence.standsFor(dueMs, clock.readMs);
    if (!Number.isFinite(this.dueMs)) throw new Error('the delay recurs at no instant');
  }

  /** Whether the code says how it recurs. */
  get isDeclared(): boolean {
    return this.repeat.declared === true;
  }

  recursAs(how: DelayRepeat): boolean {
    const known: Readonly<Record<string, unknown>> = this.repeat;
    return Object.entries(how).every(([option, value]) => known[option] === value);
  }

  /** Whether it is too late for a first attempt. */
  get isMissed(): boolean {
    return this.#recurrence.isMissed(this.dueMs, this.clock.readMs);
  }

  /** Where the delay goes on when this run is over now. */
  get nextMs(): number {
    return this.#recurrence.nextMs(this.dueMs, this.clock.leastMs());
  }
}

/** Null where it does not recur, or says what this node cannot read. */
export function occurrenceOf(
  repeat: StoredRepeat | null,
  ...of: [dueMs: number, clock: ClaimsClock]
): Occurrence | null {
  try {
    return repeat && new Occurrence(repeat, ...of);
  } catch {
    return null;
  }
}
