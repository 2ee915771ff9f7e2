import type { EntityManager } from 'typeorm';
import type { AttemptEvent } from '../../delay/delay.events.js';
import type { ClaimedRow } from '../../store/wire/attempt-rows.js';
import type { Handler } from '../../handlers/handler.js';
import type { HeldClaim } from '../../settlement/held-claim.js';
import type { Outcome } from '../../settlement/outcome.js';

let attempts = 0;

/** One run of one delay on this node, from its claim to its acknowledgement. */
export class Attempt implements HeldClaim {
  /** Its number in this process: a delay that moved on may run beside its own earlier attempt. */
  readonly serial = ++attempts;
  readonly id: number;
  readonly epoch: number;
  readonly name: string;
  readonly key: string | null;

  manager: EntityManager | undefined;
  /** The handler scheduled its own key: the row moved on under this attempt. */
  movedOn = false;
  called = false;
  committing = false;
  over = false;
  closing = false;
  onCut: ((outcome: Outcome) => void) | undefined;
  /** Told when the attempt is aborted: a batch listens. */
  onAbort: ((reason: Error) => void) | undefined;

  #controller: AbortController | undefined;
  #reason: Error | undefined;

  /**
   * @param leaseEndsAtMs `performance.now()` at which the lease ends, counted from before the claim
   * was sent: never later than the database thinks
   * @param latenessMs start minus due on the database's clock
   */
  constructor(
    readonly row: ClaimedRow,
    readonly handler: Handler,
    public leaseEndsAtMs: number,
    readonly latenessMs: number,
  ) {
    this.id = row.id;
    this.epoch = row.epoch;
    this.name = row.name;
    this.key = row.key;
  }

  /** Made when somebody asks for it: most handlers never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  cut(outcome: Outcome): void {
    this.onCut?.(outcome);
  }

  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.onAbort?.(reason);
  }

  /** Alone it is a call of its own. */
  get attempts(): readonly Attempt[] {
    return [this];
  }

  get completing(): readonly Attempt[] {
    return [this];
  }

  /** A plain attempt without a key has neither a transaction nor a row that a call could name. */
  get hasContext(): boolean {
    return this.key !== null || this.handler.transactional;
  }

  keepOnly(ids: ReadonlySet<number>): boolean {
    return ids.has(this.id);
  }

  attemptOf(name: string, key: string | null): Attempt | undefined {
    return key !== null && this.key === key && this.name === name ? this : undefined;
  }

  outcomes(outcome: Outcome): [Attempt, Outcome][] {
    return [[this, outcome]];
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
