import type { EntityManager } from 'typeorm';
import type { Delay } from '../api/delay.js';
import {
  DelayAbortedError,
  DelayLeaseLostError,
  DelayShutdownError,
  DelayTimeoutError,
  DelayUnbegunError,
  meansDiscard,
  meansPostpone,
} from '../api/errors.js';
import type { AttemptEvent } from '../api/events.js';
import { parseDurationMs } from '../config/durations.js';
import type { Handler } from '../handlers/handler.registry.js';
import type { Occurrence, StoredRepeat } from '../recurrence/recurrence.js';
import type { ClaimedRow } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';
import type { ActingCall } from '../transactions/handler-context.js';
import { type HeldClaim, type Holder, NO_HOLDER, type Outcome } from './claims.js';
import { COMPLETED, type OccurrenceEnd } from './recurrences.js';

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

/** Why a handler that fails now loses no attempt, as the outcome that it then has. */
type Stopping = 'released' | 'aborted';

/**
 * No attempt is spent, so nothing else ends a handler that postpones by nothing whenever it is called: it was called 600
 * times a second.
 */
const POSTPONED_MS_MIN = 100;

/**
 * What is meant by something a handler threw, or said of one of its delays. Whatever it is: even
 * to ask can throw, on a revoked Proxy.
 *
 * @param stopping why to give up now costs no attempt, if so
 */
export function outcomeOf(error: unknown, stopping: Stopping | undefined): Outcome {
  try {
    return meantBy(error, stopping);
  } catch {
    return { kind: 'failed', error };
  }
}

/**
 * What is meant by something that came of reading a payload. This version of the application may not know its shape, or
 * not have its key, while another one does.
 */
export function outcomeOfReading(error: unknown, stopping: Stopping | undefined): Outcome {
  const outcome = outcomeOf(error, stopping);
  return outcome.kind === 'failed' ? { kind: 'unreadable', error: outcome.error } : outcome;
}

function meantBy(error: unknown, stopping: Stopping | undefined): Outcome {
  if (meansDiscard(error)) return { kind: 'discarded', reason: error.reason };
  if (meansPostpone(error)) {
    try {
      const waitMs = Math.max(POSTPONED_MS_MIN, parseDurationMs(error.after, 'after'));
      return { kind: 'postponed', waitMs };
    } catch (invalid) {
      return { kind: 'failed', error: invalid };
    }
  }
  return stopping === undefined ? { kind: 'failed', error } : { kind: stopping };
}

/**
 * A batch that failed is done again, each delay alone and none for an attempt: which of them was the cause is not
 * known. Nor is it known whom a `DiscardDelay` that the whole batch throws is for.
 */
function eachOfBatch(outcome: Outcome): Outcome {
  if (outcome.kind === 'failed' || outcome.kind === 'unreadable') {
    return { kind: 'split', error: outcome.error };
  }
  if (outcome.kind === 'discarded') return { kind: 'split', error: outcome.reason };
  return outcome;
}

/** How a handler is told to give up, by `ctx.signal`, and what it means when it does. */
class Stop {
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isClosing = false;
  /** These are being cancelled. */
  #aborted: Set<Attempt> | undefined;

  /** Made on demand: most handlers never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why a handler that gives up now loses no attempt; undefined when it does. */
  get kind(): Stopping | undefined {
    if (this.#aborted !== undefined) return 'aborted';
    return this.#isClosing ? 'released' : undefined;
  }

  /** The first reason stays. */
  because(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  /** The application is closing. */
  close(): void {
    this.#isClosing = true;
    this.because(new DelayShutdownError());
  }

  /**
   * Later in this turn: all those that are aborted together end together.
   * @param end told once
   */
  abort(attempt: Attempt, end: () => void): void {
    if (this.#aborted === undefined) {
      this.#aborted = new Set();
      queueMicrotask(() => {
        this.because(new DelayAbortedError());
        end();
      });
    }
    this.#aborted.add(attempt);
  }

  /** Nothing that fails while the node ends costs an attempt: its own clients may be closed by then. */
  ofAll(outcome: Outcome): Outcome {
    return this.#isClosing && outcome.kind === 'failed' ? { kind: 'released' } : outcome;
  }

  /** The others of a batch end with those that are aborted, and run again at once. */
  ofOne(attempt: Attempt, outcome: Outcome): Outcome {
    const isOther = outcome.kind === 'aborted' && this.#aborted?.has(attempt) !== true;
    return isOther ? { kind: 'released' } : outcome;
  }
}

/** The place that a call takes while it runs; `atOnce`: its handler returned no promise, so nothing else ran meanwhile. */
interface Place {
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

/** What few delays have. */
interface Extras extends Pick<Delay, 'group' | 'headers'> {
  repeat: StoredRepeat | null;
}

/** One for all, which no handler may change. */
const NONE: Extras = { group: null, headers: Object.freeze({}), repeat: null };

/** @param text as a claim answers it */
export function extrasOf(text: string | null): Extras {
  if (text === null) return NONE;
  const { headers, ...extras } = JSON.parse(text) as Omit<Extras, 'headers'> & {
    headers: Extras['headers'] | null;
  };
  return { ...extras, headers: headers ?? {} };
}
