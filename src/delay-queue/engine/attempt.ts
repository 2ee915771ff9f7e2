import type { EntityManager } from 'typeorm';
import type { AttemptEvent } from '../delay.events.js';
import type { ClaimedRow } from '../store/rows.js';
import type { Handler } from '../handlers/handler.js';

/** How an attempt ended, before anything is written about it. */
export type Outcome =
  | { kind: 'completed' }
  | { kind: 'failed'; error: unknown }
  | { kind: 'discarded'; reason: string }
  | { kind: 'postponed'; waitMs: number }
  /** Given back at shutdown. */
  | { kind: 'released' }
  /** Another node may have the row: nothing may be written. */
  | { kind: 'lost' };

const nobody = (): void => {};

let attempts = 0;

/** One run of one delay on this node, from its claim to its acknowledgement. */
export class Attempt {
  /** Its number in this process: a delay that moved on may run beside its own earlier attempt. */
  readonly serial = ++attempts;
  readonly id: number;
  readonly epoch: number;
  readonly name: string;
  readonly key: string | null;
  readonly startedAtMs = performance.now();

  /** The attempt's own transaction, while a transactional handler runs. */
  manager: EntityManager | undefined;
  /** The handler scheduled its own key: the row moved on under this attempt. */
  movedOn = false;
  /** COMMIT is on its way: whatever is heard of it, it may have happened. */
  committing = false;
  /** What the handler still does counts no more: its result is decided. */
  over = false;
  /** The application is closing: a handler that gives up now loses no attempt. */
  closing = false;

  /** Settles the attempt before its handler does. */
  readonly cut: (outcome: Outcome) => void;
  /** Resolves when the attempt is cut. */
  readonly whenCut: Promise<Outcome>;

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
    let cut: (outcome: Outcome) => void = nobody;
    this.whenCut = new Promise((resolve) => {
      cut = resolve;
    });
    this.cut = cut;
  }

  /** Made when somebody asks for it: most handlers never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Tells the handler to give up; the first reason stays. */
  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
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
