import type { AttemptEvent, DelayEvents } from '../api/events.js';
import type { Runner } from '../database/runner.js';
import { wasCommitted } from '../database/transaction-status.sql.js';
import type { Handler } from '../handlers/handler.registry.js';
import type { Occurrence } from '../recurrence/recurrence.js';
import type { ClaimedRow, Retry } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { lockedPauseMs, rest, retryPauseMs, TaskHealth } from '../tasks/recurring-task.js';
import { Condition, within } from '../tasks/signal.js';

/** A claim of this node, from when its row was claimed until what became of it is written down. */
export interface HeldClaim {
  readonly id: number;
  readonly epoch: number;
  readonly latenessMs: number;
  readonly row: ClaimedRow;
  readonly handler: Handler;
  readonly event: AttemptEvent;
  /** Null: it does not recur. */
  readonly occurrence: Occurrence | null;
  /** Where its delay goes on when its own transaction is committed. */
  readonly goesOn: Wake | undefined;
  /** How long its handler ran, in milliseconds, once that is over. */
  durationMs: number;
  /** `performance.now()` when its handler was called. */
  readonly calledAtMs: number;
  /** `performance.now()` at which its lease ends. */
  leaseEndsAtMs: number;
  /** The handler scheduled its own key: the row moved on under this claim. */
  readonly movedOn: boolean;
  /** The transaction whose COMMIT is on its way: whatever is heard of it, it may have happened. */
  readonly committingIn: string | undefined;
  /** What the handler still does counts no more: the result is decided. */
  readonly over: boolean;
  readonly holder: Holder;
}

/** Who runs a handler for claims, and is told what befalls them. */
export interface Holder {
  /** Another claim has replaced it by now. */
  lose(claim: HeldClaim): void;
  /** The application is closing: the handler is told to give up, which costs no attempt. */
  close(): void;
  /** Its delay is being cancelled: the attempt is to end without effect, which costs no attempt. */
  abort(claim: HeldClaim): void;
  /** The claim is given back, whatever its handler does. */
  release(claim: HeldClaim): void;
}

/** A claim that is to end as a dead letter, by way of its name's `@OnDeadDelay`. */
export interface ExhaustedClaim {
  readonly claim: HeldClaim;
  /** As the row keeps it. */
  readonly error: string;
  readonly cause: unknown;
  /** To be told once: its row was claimed anew, or put off, or is the claim's no more. */
  readonly over: (how: 'claimed' | 'gone') => void;
}

/** Of a claim whose result is decided: the call is over, and so need not be kept until all is written. */
export const NO_HOLDER: Holder = {
  lose: () => {},
  close: () => {},
  abort: () => {},
  release: () => {},
};

/** The claims this node holds now. A delay that moved on may be claimed beside its own earlier claim. */
export class InFlight {
  /** The latest claim of each delay. */
  readonly #byId = new Map<number, HeldClaim>();
  /** Earlier claims of delays that moved on: there are hardly ever any. */
  readonly #earlier = new Set<HeldClaim>();
  readonly #idle = new Condition();

  get size(): number {
    return this.#byId.size + this.#earlier.size;
  }

  /** The successor of a delay that moved on may come first: then this is the earlier one. */
  add(claim: HeldClaim): void {
    const known = this.#byId.get(claim.id);
    if (known === undefined || known.epoch < claim.epoch) this.#byId.set(claim.id, claim);
    if (known === undefined || known === claim) return;
    if (CHECKED) invariant(known.epoch !== claim.epoch, 'one claim of an epoch', claim.epoch);
    this.#earlier.add(known.epoch < claim.epoch ? known : claim);
  }

  delete(claim: HeldClaim): void {
    if (this.#byId.get(claim.id) === claim) this.#byId.delete(claim.id);
    else this.#earlier.delete(claim);
    if (this.size === 0) this.#idle.notify();
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

/** How an attempt ended, before anything is written about it. */
export type Outcome =
  | { kind: 'completed' }
  | { kind: 'failed'; error: unknown }
  /** Its batch failed: again at once, alone, and no attempt is spent. */
  | { kind: 'split'; error: unknown }
  | { kind: 'discarded'; reason: unknown }
  /** This node cannot read its payload: another one may. */
  | { kind: 'unreadable'; error: unknown }
  | { kind: 'postponed'; waitMs: number }
  /** Its handler was not called: given back, and no attempt is spent. */
  | { kind: 'unbegun'; error: unknown; waitMs: number }
  /** Given back at shutdown, or because another one of its batch was aborted. */
  | { kind: 'released' }
  /** It is being cancelled: given back, and no attempt is spent. */
  | { kind: 'aborted' }
  /** Another node may have the row: nothing may be written. */
  | { kind: 'lost' };

/** What ends an attempt whose delay stays, without the attempt's own id and epoch. */
export type Ending = Omit<Retry, 'id' | 'epoch'>;

/** No handler was called. */
export const GIVE_BACK: Ending = {
  waitMs: 0,
  movesDue: false,
  refund: 1,
  error: null,
  ends: 'unbegun',
};

/** @param waitMs until the next attempt; null: there is none, and it is a dead letter */
export const failedEnding = (error: string, waitMs: number | null): Ending => ({
  waitMs,
  movesDue: false,
  refund: 0,
  error,
  ends: 'failed',
});

export const postponedEnding = (waitMs: number): Ending => ({
  ...GIVE_BACK,
  waitMs,
  movesDue: true,
  ends: 'postponed',
});

export const RELEASED: Ending = { ...GIVE_BACK, ends: 'released' };

/**
 * So long an aborted delay waits for the cancel, so that no node runs it before. It is as it was when
 * none comes: the transaction was rolled back, or the process died.
 */
const ABORTED_REST_MS = 1_000;

export const ABORTED: Ending = { ...GIVE_BACK, waitMs: ABORTED_REST_MS, ends: 'aborted' };

/** Claims whose attempt was the last, and whose names have a method for that. Their leases are kept meanwhile. */
export class ExhaustedClaims {
  #size = 0;
  readonly #empty = new Condition();

  /** @param unwritten claims whose leases are renewed */
  constructor(
    private readonly unwritten: InFlight,
    private readonly to: { exhausted(dying: ExhaustedClaim): void },
  ) {}

  /** Those that are not claimed anew, to die. */
  get size(): number {
    return this.#size;
  }

  add(claim: HeldClaim, error: string, cause: unknown, onOver: ExhaustedClaim['over']): void {
    this.unwritten.add(claim);
    const leave = this.enter();
    const over: ExhaustedClaim['over'] = (how) => {
      this.unwritten.delete(claim);
      leave();
      onOver(how);
    };
    this.to.exhausted({ claim, error, cause, over });
  }

  /** One more, whose process died. @returns what is to be called once when that is over */
  enter(): () => void {
    this.#size += 1;
    return () => {
      this.#size -= 1;
      if (CHECKED) invariant(this.#size >= 0, 'exhausted delays', this.#size);
      if (this.#size === 0) this.#empty.notify();
    };
  }

  /** Resolves when there are none, or after `withinMs`. */
  async whenEmpty(withinMs: number): Promise<void> {
    if (this.#size > 0) await within(this.#empty.next, withinMs);
  }
}

const COMPLETED: Outcome = { kind: 'completed' };

/**
 * Attempts whose COMMIT was sent but not answered. Their rows do not tell whether it happened: a
 * row that is gone was removed by this COMMIT, or by another node that has run the delay since.
 * Postgres knows the status of the transaction.
 */
export class UnansweredCommits {
  /** The attempts of a batch share one query. */
  readonly #asked = new Map<string, Promise<boolean | undefined>>();
  readonly #empty = new Condition();
  readonly #health: TaskHealth;
  #size = 0;
  #isClosed = false;

  /** @param unwritten attempts whose leases are kept */
  constructor(
    private readonly runner: Runner,
    private readonly unwritten: InFlight,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'complete');
  }

  /** Attempts whose COMMIT is still unknown. */
  get size(): number {
    return this.#size;
  }

  /** Passes on the outcome, at once or when Postgres knows of the COMMIT. Not after `close`. */
  known<Claim extends HeldClaim>(
    claim: Claim,
    outcome: Outcome,
    tell: (claim: Claim, outcome: Outcome) => void,
  ): void {
    const { committingIn } = claim;
    const isKnown = outcome.kind === 'completed' || outcome.kind === 'lost';
    if (committingIn === undefined || isKnown) return tell(claim, outcome);
    this.unwritten.add(claim);
    this.#size += 1;
    void this.#ask(committingIn).then((isCommitted) => {
      this.unwritten.delete(claim);
      this.#size -= 1;
      if (CHECKED) invariant(this.#size >= 0, 'unanswered commits', this.#size);
      if (isCommitted !== undefined) tell(claim, isCommitted ? COMPLETED : outcome);
      if (this.#size === 0) this.#empty.notify();
    });
  }

  /** Resolves when all are known, or after `withinMs`. */
  async whenEmpty(withinMs: number): Promise<void> {
    if (this.#size > 0) await within(this.#empty.next, withinMs);
  }

  close(): void {
    this.#isClosed = true;
  }

  #ask(transaction: string): Promise<boolean | undefined> {
    let answer = this.#asked.get(transaction);
    if (answer === undefined) {
      answer = this.#find(transaction).finally(() => this.#asked.delete(transaction));
      this.#asked.set(transaction, answer);
    }
    return answer;
  }

  /** Undefined after `close`. A cut session takes time to end, and a COMMIT to reach a replica. */
  async #find(transaction: string): Promise<boolean | undefined> {
    let [looks, failures] = [0, 0];
    while (!this.#isClosed) {
      try {
        const isCommitted = await wasCommitted(this.runner, transaction);
        this.#health.worked();
        if (isCommitted !== undefined) return isCommitted;
        await rest(lockedPauseMs((looks += 1)));
      } catch (error) {
        this.#health.failed(error);
        await this.#health.pause(retryPauseMs((failures += 1)));
      }
    }
    return undefined;
  }
}
