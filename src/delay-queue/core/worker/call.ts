import type { EntityManager } from 'typeorm';
import type {
  AttemptClient,
  DelayTransaction,
  DeadDelayContext,
  Delay,
  DelayBatchContext,
  DelayContext,
  Duration,
} from '../api/delay.js';
import {
  DelayAbortedError,
  DelayInvalidError,
  DelayLeaseLostError,
  DelayShutdownError,
  DelayTimeoutError,
  DelayUnbegunError,
  meansDiscard,
  meansPostpone,
  PostponeDelay,
} from '../api/errors.js';
import { parseDurationMs } from '../config/durations.js';
import { readable } from '../config/refusals.js';
import { shown } from '../config/shown.js';
import { decoded } from '../config/payload-codec.js';
import type { Handler } from '../handlers/handler.registry.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import type { ActingCall } from '../transactions/handler-context.js';
import { type Attempt, type Holder, NO_HOLDER, type OnDead, type Outcome } from './attempt.js';

/** Why a handler that fails now loses no attempt. Also the kind of its outcome. */
type Stopping = 'released' | 'aborted';

/**
 * Nothing else ends a handler that always postpones by zero, since that spends no attempt: one was
 * called 600 times a second.
 */
const POSTPONED_MS_MIN = 100;

/**
 * The outcome for an error that a handler threw or set. Even inspecting it can throw (revoked
 * Proxy).
 *
 * @param stopping set when giving up now costs no attempt
 */
export function toOutcome(error: unknown, stopping: Stopping | undefined): Outcome {
  try {
    if (meansDiscard(error)) return { kind: 'discarded', reason: error.reason };
    if (meansPostpone(error)) return toPostponed(error);
  } catch {
    return { kind: 'failed', error };
  }
  return stopping === undefined ? { kind: 'failed', error } : { kind: stopping };
}

function toPostponed(error: { after: Duration }): Outcome {
  try {
    const waitMs = Math.max(POSTPONED_MS_MIN, parseDurationMs(error.after, 'after'));
    return { kind: 'postponed', waitMs };
  } catch (invalid) {
    return { kind: 'failed', error: invalid };
  }
}

/** Like {@link toOutcome}, while a payload is read: another version may know its shape or key. */
export function toReadingOutcome(error: unknown, stopping: Stopping | undefined): Outcome {
  const outcome = toOutcome(error, stopping);
  return outcome.kind === 'failed' ? { kind: 'unreadable', error: outcome.error } : outcome;
}

/**
 * A failed batch runs again, each delay alone and without spending an attempt: the cause is
 * unknown, and so is the target of a `DiscardDelay` for the whole batch.
 */
function eachOfBatch(outcome: Outcome): Outcome {
  if (outcome.kind === 'failed' || outcome.kind === 'unreadable') {
    return { kind: 'split', error: outcome.error };
  }
  if (outcome.kind === 'discarded') return { kind: 'split', error: outcome.reason };
  return outcome;
}

/** The slot of a running call; `atOnce`: the handler returned no promise, so nothing else ran. */
interface Slot {
  release(atOnce?: boolean): void;
}

/**
 * One call of a handler, with one attempt or those of a batch. It commits or fails as a whole,
 * except for attempts whose outcome the handler set (`ctx.fail`, `ctx.postpone`) and attempts that
 * lose their lease alone.
 */
export class Call implements ActingCall, Holder {
  /** The manager of its transaction, once that has begun. */
  manager: EntityManager | undefined;
  /** The client of `pg` of its transaction, as the handler may use it. */
  client: (() => AttemptClient) | undefined;
  pid: number | undefined;
  /** With `transactional: 'own'`: removes the delay in a transaction of the handler. */
  complete: ((tx: DelayTransaction) => Promise<void>) | undefined;
  /** From then on the attempts count. */
  called = false;
  /** Its payloads are being read; the handler has not seen them yet. */
  isReading = false;
  /** The outcome is decided: whatever the handler still does has no effect. */
  over = false;
  /** Called when the call no longer waits for its handler. */
  onCut: ((outcome: Outcome) => void) | undefined;
  /** Called when its timeout has passed and the call waits for its handler all the same. */
  onLate: (() => void) | undefined;
  /** How it ends then. */
  late: Outcome | undefined;

  #open: readonly Attempt[];
  /** Outcomes decided before the others. */
  #decided: Map<Attempt, Outcome> | undefined;
  #said: Map<Attempt, Outcome> | undefined;
  /** Created on demand: most handlers read no signal. */
  #controller: AbortController | undefined;
  /** Why the handler is to give up. */
  #reason: Error | undefined;
  #isClosing = false;
  #aborted: Set<Attempt> | undefined;

  /** @param attempts at least one, all of that handler */
  constructor(
    readonly handler: Handler,
    attempts: readonly Attempt[],
    readonly slot: Slot,
  ) {
    this.#open = attempts;
    for (const attempt of attempts) attempt.holder = this;
  }

  get attempts(): readonly Attempt[] {
    return this.#open;
  }

  /** Set for a call of `@OnDeadDelay`; null for attempts. */
  get onDead(): OnDead | null {
    return this.#open[0]?.onDead ?? null;
  }

  /** Attempts that complete if the call does: the handler set no other outcome for them. */
  get completing(): readonly Attempt[] {
    const said = this.#said;
    return said === undefined ? this.#open : this.#open.filter((attempt) => !said.has(attempt));
  }

  /** Whether COMMIT may have removed its rows. */
  committing(isCommitting: boolean): void {
    for (const attempt of this.completing) attempt.isCommitting = isCommitting;
  }

  /** `performance.now()` at which the first of its leases ends. */
  get leaseEndsAtMs(): number {
    let first = Infinity;
    for (const { leaseEndsAtMs } of this.#open) first = Math.min(first, leaseEndsAtMs);
    return first;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why a handler that gives up now loses no attempt; undefined: it loses one. */
  get stopping(): Stopping | undefined {
    if (this.#aborted !== undefined) return 'aborted';
    return this.#isClosing ? 'released' : undefined;
  }

  /**
   * False for a plain attempt without a key: a call could name neither its transaction nor its row.
   */
  get hasContext(): boolean {
    const { transactional, batch } = this.handler;
    return transactional || batch !== null || this.#open[0]?.key !== null;
  }

  attemptOf(name: string, key: string | null): Attempt | undefined {
    if (key === null || name !== this.handler.name) return undefined;
    return this.#open.find((attempt) => attempt.key === key);
  }

  /**
   * The handler's timeout has passed, or half the lease before the handler was called.
   * @param locks that it waited for, in words
   */
  timeOut(locks: readonly string[] = []): void {
    const { leaseMs, timeoutMs } = this.handler;
    if (!this.called) {
      return this.#cut({ kind: 'unbegun', error: new DelayUnbegunError(leaseMs / 2), waitMs: 0 });
    }
    const error = new DelayTimeoutError(timeoutMs, locks);
    this.#stop(error);
    if (this.isReading) return this.#cut({ kind: 'unreadable', error });
    const outcome: Outcome = { kind: 'failed', error };
    if (!this.#goesAlone) return this.#cut(outcome);
    this.late = outcome;
    this.onLate?.();
  }

  /** A lost lease stops the handler only if no other attempt is left. */
  lose(attempt: Attempt): void {
    if (this.#isLast(attempt)) this.#stop(new DelayLeaseLostError());
    this.#decide(attempt, { kind: 'lost' });
  }

  /**
   * A call whose handler was not called yet ends at once, unless `@OnDeadDelay` is to end an attempt
   * that ran here.
   */
  close(): void {
    this.#isClosing = true;
    this.#stop(new DelayShutdownError());
    if (!this.called && this.onDead === null) this.#cut({ kind: 'released' });
  }

  /**
   * The delay of that attempt is being cancelled. A transaction is cut, and so is a call whose
   * handler was not called. A plain handler gets the signal, and its result counts. After COMMIT is
   * sent it is too late.
   */
  abort(attempt: Attempt): void {
    if (this.over || attempt.isCommitting || !this.#open.includes(attempt)) return;
    if (this.#aborted === undefined) {
      this.#aborted = new Set();
      // Attempts that are aborted in one turn end together.
      queueMicrotask(() => this.#abortAll());
    }
    this.#aborted.add(attempt);
  }

  release(attempt: Attempt): void {
    this.#decide(attempt, { kind: 'released' });
  }

  /** Sets the outcome of one delay. @returns false when that delay is not open */
  say(id: unknown, outcome: Outcome): boolean {
    const attempt = this.#open.find((each) => String(each.id) === id);
    if (attempt === undefined) return false;
    (this.#said ??= new Map()).set(attempt, outcome);
    return true;
  }

  /** Makes this run the last of that delay, or of all of the batch. @throws DelayInvalidError */
  stopRepeating(delay: unknown): void {
    const id = delay === undefined ? undefined : readDelayId(delay);
    const chosen = this.#open.filter((each) => id === undefined || String(each.id) === id);
    if (this.over || chosen.length === 0) {
      throw new DelayInvalidError('delay', 'must be of this run, before its outcome is decided');
    }
    if (chosen.some(({ occurrence }) => occurrence?.isDeclared === true)) {
      throw new DelayInvalidError(
        'delay',
        'recurs by a @RepeatDelay, which each start declares again: remove that from the code',
      );
    }
    for (const attempt of chosen) attempt.stopsRepeating = true;
  }

  /** Decides the call. @param tell receives the outcome of each attempt */
  end(given: Outcome, tell: (attempt: Attempt, outcome: Outcome) => void): void {
    if (CHECKED) invariant(!this.over, 'a call is decided once', given.kind);
    this.over = true;
    // While the node closes, no failure costs an attempt: the handler's own clients may be closed.
    const isExcused = this.#isClosing && given.kind === 'failed';
    const outcome: Outcome = isExcused ? { kind: 'released' } : given;
    const decided = this.#decided;
    const isBatch = this.#open.length > 1 || decided !== undefined;
    const all = isBatch ? eachOfBatch(outcome) : outcome;
    const said = outcome.kind === 'completed' ? this.#said : undefined;
    if (decided !== undefined) for (const [attempt, its] of decided) tell(attempt, its);
    for (const attempt of this.#open) {
      attempt.over = true;
      attempt.holder = NO_HOLDER;
      const its = said?.get(attempt) ?? all;
      // The rest of a batch ends with its aborted attempts and runs again at once.
      const isOther = its.kind === 'aborted' && this.#aborted?.has(attempt) === false;
      tell(attempt, isOther ? { kind: 'released' } : its);
    }
  }

  /** Runs of a recurring delay never overlap, so the next one waits for a plain handler's end. */
  get #goesAlone(): boolean {
    return !this.handler.transactional && this.#open.some(({ occurrence }) => occurrence !== null);
  }

  #abortAll(): void {
    this.#stop(new DelayAbortedError());
    if (this.called && !this.handler.transactional) return;
    if (!this.#open.some(({ isCommitting }) => isCommitting)) this.#cut({ kind: 'aborted' });
  }

  /** Asks the handler to give up. The first reason stays. */
  #stop(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  #cut(outcome: Outcome): void {
    if (!this.over) this.onCut?.(outcome);
  }

  #decide(attempt: Attempt, outcome: Outcome): void {
    if (this.over) return;
    if (this.#isLast(attempt)) this.#cut(outcome);
    else if (this.#open.includes(attempt)) {
      this.#open = this.#open.filter((each) => each !== attempt);
      attempt.over = true;
      (this.#decided ??= new Map()).set(attempt, outcome);
    }
  }

  #isLast(attempt: Attempt): boolean {
    return this.#open.length === 1 && this.#open[0] === attempt;
  }
}

/** Arguments of a handler: its delay or delays, and its context. */
export interface HandlerArguments {
  work: Delay | Delay[];
  ctx: DelayContext;
}

/** @throws DelayCodecError for an encoded payload, since there is no codec */
export function plainArguments(call: Call): HandlerArguments {
  if (call.handler.batch !== null) return batchArguments(call, call.attempts.map(decodedDelay));
  const [first] = call.attempts as [Attempt];
  return { work: decodedDelay(first), ctx: createContext(call) };
}

/** @param payloads for the attempts that reach the handler, at least one */
export function argumentsWith(
  call: Call,
  payloads: ReadonlyMap<Attempt, unknown>,
): HandlerArguments {
  const delays = [...payloads].map(([attempt, payload]) => buildDelay(attempt, payload));
  if (call.handler.batch !== null) return batchArguments(call, delays);
  return { work: delays[0] as Delay, ctx: createContext(call) };
}

const batchArguments = (call: Call, delays: Delay[]): HandlerArguments => ({
  work: delays,
  ctx: createBatchContext(call),
});

const decodedDelay = (attempt: Attempt): Delay =>
  buildDelay(attempt, decoded(undefined, attempt.row.payload, attempt));

function buildDelay({ row, extras, latenessMs }: Attempt, payload: unknown): Delay {
  return {
    id: String(row.id),
    name: row.name,
    key: row.key,
    group: extras.group,
    headers: extras.headers,
    payload,
    dueAt: new Date(row.due_ms),
    createdAt: new Date(row.created_ms),
    attempt: row.attempts,
    maxAttempts: row.max_attempts,
    latenessMs,
  } as Delay;
}

function createContext(call: Call): DelayContext {
  const { onDead, manager, client } = call;
  if (onDead === null) return new HandlerContext(call);
  const { error, cause } = onDead;
  const ctx: DeadDelayContext = {
    manager: manager as EntityManager,
    client: client?.() as AttemptClient,
    signal: call.signal,
    error,
    cause,
    stopRepeating: (delay) => call.stopRepeating(delay),
  };
  return ctx;
}

/** A class: a getter in an object literal would be created for each call. */
class HandlerContext implements DelayContext {
  readonly #call: Call;
  readonly manager: EntityManager | undefined;

  constructor(call: Call) {
    this.#call = call;
    this.manager = call.manager;
  }

  get client(): AttemptClient | undefined {
    return this.#call.client?.();
  }

  get complete(): Call['complete'] {
    return this.#call.complete;
  }

  /** An AbortController is created only for handlers that read it. */
  get signal(): AbortSignal {
    return this.#call.signal;
  }

  /** A handler may destructure it. */
  get stopRepeating(): DelayContext['stopRepeating'] {
    return (delay) => this.#call.stopRepeating(delay);
  }
}

function createBatchContext(
  call: Call,
): DelayBatchContext & { manager: EntityManager | undefined; client: AttemptClient | undefined } {
  const fail = (delay: Delay, error: unknown): void => {
    if (call.over) {
      throw new DelayInvalidError('delay', 'the batch is over: its outcome is decided');
    }
    if (!call.say(readDelayId(delay), toOutcome(error, call.stopping))) {
      throw new DelayInvalidError('delay', `must be one of the batch, not ${shown(delay)}`);
    }
  };
  return {
    get signal(): AbortSignal {
      return call.signal;
    },
    manager: call.manager,
    get client(): AttemptClient | undefined {
      return call.client?.();
    },
    stopRepeating: (delay) => call.stopRepeating(delay),
    fail,
    postpone(delay: Delay, after: Duration): void {
      parseDurationMs(after, 'after');
      fail(delay, new PostponeDelay(after));
    },
  };
}

const readDelayId = (delay: unknown): unknown =>
  readable('delay', () =>
    typeof delay === 'object' && delay !== null && 'id' in delay ? delay.id : undefined,
  );
