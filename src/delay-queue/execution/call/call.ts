import type { EntityManager } from 'typeorm';
import {
  DelayLeaseLostError,
  DelayTimeoutError,
  DelayUnbegunError,
} from '../../delay/delay.errors.js';
import type { Handler } from '../../handlers/handler.js';
import type { ActingCall } from '../../producer/transaction/handler-context.js';
import { type Holder, NO_HOLDER } from '../../settlement/held-claim.js';
import type { Outcome } from '../../settlement/outcome.js';
import type { Attempt } from './attempt.js';
import { eachOfBatch, type Stopping } from './outcome-of.js';
import { Stop } from './stop.js';

/** The place that a call takes while it runs; `atOnce`: its handler returned no promise, so nothing else ran meanwhile. */
export interface Place {
  release(atOnce?: boolean): void;
}

/**
 * One call of a handler, with one attempt, or with those of a batch. It commits or fails as a whole, with two
 * exceptions: what the handler says of one of them (`ctx.fail`, `ctx.postpone`), and an attempt that loses its
 * lease alone.
 */
export class Call implements ActingCall, Holder {
  /** Of its transaction, once that has begun. */
  manager: EntityManager | undefined;
  /** Its handler was called: from then on the attempts count. */
  called = false;
  /** Its payloads are being read, and its handler has not heard of it. */
  isReading = false;
  /** What the handler still does counts no more: the result is decided. */
  over = false;
  /** Told when the handler is not waited for any more. */
  onCut: ((outcome: Outcome) => void) | undefined;

  #open: readonly Attempt[];
  /** Decided before the others. */
  #decided: Map<Attempt, Outcome> | undefined;
  #said: Map<Attempt, Outcome> | undefined;
  /** Made on demand: most calls are never stopped, and most handlers look at no signal. */
  #stopped: Stop | undefined;

  /** @param attempts at least one, all of that handler */
  constructor(
    readonly handler: Handler,
    attempts: readonly Attempt[],
    readonly place: Place,
  ) {
    this.#open = attempts;
    for (const attempt of attempts) attempt.holder = this;
  }

  /** Those that are not decided yet. */
  get attempts(): readonly Attempt[] {
    return this.#open;
  }

  /** Those that end well if the call does: the handler said nothing else of them. */
  get completing(): readonly Attempt[] {
    const said = this.#said;
    return said === undefined ? this.#open : this.#open.filter((attempt) => !said.has(attempt));
  }

  /** COMMIT of that transaction may have happened to those whose removal is in it; undefined: it has not. */
  committing(transaction: string | undefined): void {
    for (const attempt of this.completing) attempt.committingIn = transaction;
  }

  /** `performance.now()` at which the first of its leases ends. */
  get leaseEndsAtMs(): number {
    let first = Infinity;
    for (const { leaseEndsAtMs } of this.#open) first = Math.min(first, leaseEndsAtMs);
    return first;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Why a handler that gives up now loses no attempt; undefined when it does. */
  get stopping(): Stopping | undefined {
    return this.#stopped?.kind;
  }

  /** A plain attempt without a key has neither a transaction nor a row that a call could name. */
  get hasContext(): boolean {
    const { transactional, batch } = this.handler;
    return transactional || batch !== null || this.#open[0]?.key !== null;
  }

  attemptOf(name: string, key: string | null): Attempt | undefined {
    if (key === null || name !== this.handler.name) return undefined;
    return this.#open.find((attempt) => attempt.key === key);
  }

  /** Its time is over. */
  timeOut(): void {
    const { leaseMs, timeoutMs } = this.handler;
    if (!this.called) {
      return this.#cut({ kind: 'unbegun', error: new DelayUnbegunError(leaseMs / 2), waitMs: 0 });
    }
    const error = new DelayTimeoutError(timeoutMs);
    this.#stop.because(error);
    this.#cut({ kind: this.isReading ? 'unreadable' : 'failed', error });
  }

  /** One lost lease is no reason to stop for the others. */
  lose(attempt: Attempt): void {
    if (this.#isLast(attempt)) this.#stop.because(new DelayLeaseLostError());
    this.#decide(attempt, { kind: 'lost' });
  }

  /** What was not called yet is not called any more. */
  close(): void {
    this.tellToGiveUp();
    if (!this.called) this.#cut({ kind: 'released' });
  }

  protected tellToGiveUp(): void {
    this.#stop.close();
  }

  /**
   * The delay of that attempt is being cancelled. A transaction can be cut, and so can what was not called; a plain handler
   * is told to give up, and the result is its own. When COMMIT is on its way it is too late.
   */
  abort(attempt: Attempt): void {
    if (this.over || attempt.isCommitting || !this.#open.includes(attempt)) return;
    this.#stop.abort(attempt, () => {
      if (this.called && !this.handler.transactional) return;
      if (!this.#open.some(({ isCommitting }) => isCommitting)) this.#cut({ kind: 'aborted' });
    });
  }

  release(attempt: Attempt): void {
    this.#decide(attempt, { kind: 'released' });
  }

  /**
   * Leaves out those whose row is not held any more, if others are.
   * @returns whether any is held; the caller ends the call if not
   */
  keepOnly(ids: ReadonlySet<number>): boolean {
    const held = this.#open.filter(({ id }) => ids.has(id));
    if (held.length === 0) return false;
    if (held.length < this.#open.length) {
      for (const attempt of this.#open) {
        if (!ids.has(attempt.id)) this.#leftOut(attempt, { kind: 'lost' });
      }
      this.#open = held;
    }
    return true;
  }

  /** What the handler says of one of its delays. @returns whether it is one of those still open */
  say(id: unknown, outcome: Outcome): boolean {
    const attempt = this.#open.find((each) => String(each.id) === id);
    if (attempt === undefined) return false;
    this.#said ??= new Map();
    this.#said.set(attempt, outcome);
    return true;
  }

  /** The result is decided. @param tell what becomes of each attempt */
  end(given: Outcome, tell: (attempt: Attempt, outcome: Outcome) => void): void {
    this.over = true;
    const outcome = this.#stopped?.ofAll(given) ?? given;
    const decided = this.#decided;
    const isBatch = this.#open.length > 1 || decided !== undefined;
    const all = isBatch ? eachOfBatch(outcome) : outcome;
    const said = outcome.kind === 'completed' ? this.#said : undefined;
    if (decided !== undefined) for (const [attempt, its] of decided) tell(attempt, its);
    for (const attempt of this.#open) {
      attempt.over = true;
      attempt.holder = NO_HOLDER;
      const its = said?.get(attempt) ?? all;
      tell(attempt, this.#stopped?.ofOne(attempt, its) ?? its);
    }
  }

  get #stop(): Stop {
    return (this.#stopped ??= new Stop());
  }

  /** Ends before the handler does. */
  #cut(outcome: Outcome): void {
    if (!this.over) this.onCut?.(outcome);
  }

  #decide(attempt: Attempt, outcome: Outcome): void {
    if (this.over) return;
    if (this.#isLast(attempt)) this.#cut(outcome);
    else if (this.#open.includes(attempt)) {
      this.#open = this.#open.filter((each) => each !== attempt);
      this.#leftOut(attempt, outcome);
    }
  }

  #isLast(attempt: Attempt): boolean {
    return this.#open.length === 1 && this.#open[0] === attempt;
  }

  #leftOut(attempt: Attempt, outcome: Outcome): void {
    attempt.over = true;
    this.#decided ??= new Map();
    this.#decided.set(attempt, outcome);
  }
}
