import type { AttemptEvent } from '../../delay/delay.events.js';
import type { Handler } from '../../handlers/handler.js';
import type { HeldClaim, Holder } from '../../settlement/held-claim.js';
import type { Occurrence } from '../../recurrence/occurrence.js';
import { COMPLETED, type OccurrenceEnd } from '../../settlement/recurrences.js';
import type { ClaimedRow } from '../../store/wire/attempt-rows.js';
import type { Wake } from '../../store/wire/wakes.js';

/** One run of one delay on this node, from its claim to its acknowledgement. */
export class Attempt implements HeldClaim {
  readonly id: number;
  readonly epoch: number;
  readonly name: string;
  readonly key: string | null;

  /** Set by what runs it, until its result is decided. */
  holder!: Holder;
  /** The handler scheduled its own key: the row moved on under this attempt. */
  movedOn = false;
  /** Its own transaction has written where its delay goes on. */
  goesOn: Wake | undefined;
  /** How an occurrence ends whose handler ends well. */
  ends: OccurrenceEnd = COMPLETED;
  calledAtMs = Number.NaN;
  durationMs = Number.NaN;
  committingIn: string | undefined;
  over = false;

  /**
   * @param leaseEndsAtMs `performance.now()` at which the lease ends, counted from before the claim
   * was sent: never later than the database thinks
   * @param latenessMs start minus due on the database's clock; one that waits for a place begins later
   */
  constructor(
    readonly row: ClaimedRow,
    readonly handler: Handler,
    public leaseEndsAtMs: number,
    public latenessMs: number,
    readonly occurrence: Occurrence | null = null,
  ) {
    this.id = row.id;
    this.epoch = row.epoch;
    this.name = row.name;
    this.key = row.key;
  }

  get isCommitting(): boolean {
    return this.committingIn !== undefined;
  }

  get event(): AttemptEvent {
    return {
      id: String(this.id),
      name: this.name,
      key: this.key,
      attempt: this.row.attempts,
      maxAttempts: this.row.max_attempts,
      latenessMs: this.latenessMs,
    };
  }
}
