import {
  type GoesOn,
  type HowEnded,
  isSameRule,
  Recurrence,
  type StoredRepeat,
} from './recurrence.js';

/** One run of a recurring delay. */
export class Occurrence {
  /** The instant that it stands for: `dueAt` of its handler. */
  readonly dueMs: number;
  readonly #recurrence: Recurrence;

  /**
   * @param rowDueMs of the row
   * @throws if this node cannot read the row's recurrence
   */
  constructor(
    private readonly repeat: StoredRepeat,
    private readonly rowDueMs: number,
    private readonly clock: ClaimsClock,
  ) {
    this.#recurrence = new Recurrence(repeat);
    this.dueMs = this.#recurrence.standsFor(rowDueMs, clock.readMs);
    if (!Number.isFinite(this.dueMs)) throw new Error('the recurrence has no instant');
  }

  /** Whether a `@RepeatDelay` declares it. */
  get isDeclared(): boolean {
    return this.repeat.declared === true;
  }

  /** Whether it has the same rule; the end may be another. */
  recursAs(how: object): boolean {
    return isSameRule(this.repeat, how);
  }

  /** Whether it is too late for a first attempt. */
  get isMissed(): boolean {
    return this.#recurrence.isMissed(this.dueMs, this.clock.readMs);
  }

  /** How the row goes on if this run ended now. */
  goesOn(how: HowEnded): GoesOn {
    return this.#recurrence.goesOn(how, this.rowDueMs, this.dueMs, this.clock.leastMs());
  }
}

/** Null if the delay does not recur, or this node cannot read its recurrence. */
export function readOccurrence(
  repeat: StoredRepeat | null,
  ...of: [dueMs: number, clock: ClaimsClock]
): Occurrence | null {
  try {
    return repeat && new Occurrence(repeat, ...of);
  } catch {
    return null;
  }
}

/** The database's clock as the claim read it. An estimate could be ahead of the next instant. */
interface ClaimsClock {
  readonly readMs: number;
  /** The earliest time that it can be now. */
  leastMs(): number;
}
