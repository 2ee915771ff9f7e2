import type { DeadDelayContext, Delay, TransactionalDelayContext } from '../api/delay.js';
import { describeError } from '../api/error-text.js';
import { DelayCodecError } from '../api/errors.js';
import { DelayEvents, withCause } from '../api/events.js';
import { isOf } from '../config/known-options.js';
import { decoded, type PayloadReader } from '../config/payloads.js';
import type { Runner } from '../database/runner.js';
import type { DeadHandler, Handler, HandlerRegistry } from '../handlers/handler.registry.js';
import { occurrenceOf } from '../recurrence/recurrence.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { Completion, OnDeadRow, LookedRow } from '../store/rows/attempt-rows.js';
import { lockedPauseMs, rest, retryPauseMs, TaskHealth } from '../tasks/recurring-task.js';
import { Condition, within } from '../tasks/signal.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import { Attempt, Call, extrasOf } from './call.js';
import {
  type ExhaustedClaim,
  failedEnding,
  type HeldClaim,
  type InFlight,
  type Outcome,
} from './claims.js';
import { type Completer, deadEvent, endOf } from './completer.js';
import { Executor } from './executor.js';
import type { FencedParts } from './fenced-transaction.js';
import type { NameStates } from './name-state.js';

export const NO_ATTEMPT_LEFT =
  'no attempt is left, and the last one ended without a word: its process was killed or paused';

/** A method that fails again and again is called after an eighth of the time that its delay is late, within these. */
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 300_000;
const SHARE_OF_LATENESS = 1 / 8;

/** Why a delay dies. */
type LastFailure = Pick<ExhaustedClaim, 'error' | 'cause'>;

/** A handler whose name has a method with `@OnDeadDelay`. */
export type HandlerWithOnDead = Handler & { readonly onDead: DeadHandler };

/** That method as a transactional handler, for one call. */
export type OnDeadCallHandler = HandlerWithOnDead & { readonly lastFailure: LastFailure };

/** Writes down and tells how calls of `@OnDeadDelay` ended. */
export class DeadLetterReports {
  constructor(
    private readonly store: AttemptStore,
    private readonly completer: Completer,
    private readonly events: DelayEvents,
  ) {}

  handlerOf(
    row: OnDeadRow,
    handler: HandlerWithOnDead,
    held: ExhaustedClaim | undefined,
  ): OnDeadCallHandler {
    const { onDead } = handler;
    const error = held?.error ?? row.last_error ?? NO_ATTEMPT_LEFT;
    const death = { error, cause: held?.cause };
    return {
      ...handler,
      lastFailure: death,
      transactional: true,
      batch: null,
      readPayload: readerOf(onDead.readPayload, error),
      invoke: (delay, ctx) => {
        const { manager, signal } = ctx as TransactionalDelayContext;
        const context: DeadDelayContext = { manager, signal, ...death };
        return onDead.invoke(delay as Delay, context);
      },
    };
  }

  /** The last statement of its transaction. @returns the ids of those that are dead letters now */
  async deadLetter(claims: readonly Completion[], runner: Runner): Promise<number[]> {
    const rows = await this.store.retry(
      (claims as readonly (Completion & HeldClaim)[]).map(({ id, epoch, handler }) => ({
        id,
        epoch,
        ...failedEnding(lastFailureOf(handler).error, null),
      })),
      runner,
    );
    return rows.map(({ id }) => id);
  }

  /** What becomes of the delay; that it is no dead letter yet costs it no attempt, and gives it none. */
  report(claim: HeldClaim, outcome: Outcome): void {
    claim.durationMs = performance.now() - claim.calledAtMs;
    this.completer.commits.known(claim, outcome, this.#report);
  }

  readonly #report = (claim: HeldClaim, outcome: Outcome): void => {
    const { error, cause } = lastFailureOf(claim.handler);
    if (outcome.kind === 'lost') return void this.events.emit('lost', claim.event);
    if (outcome.kind === 'completed') {
      this.completer.free(claim);
      if (claim.goesOn !== undefined) this.completer.to.waits(claim.goesOn);
      if (claim.movedOn) this.events.emit('superseded', endOf(claim));
      else this.events.emit('dead', deadEvent(claim, error, cause));
      return;
    }
    const waitMs = waitAfter(claim, outcome);
    this.completer.putOff(claim, { waitMs, error }, (result) => {
      if (result === 'written') this.#tell(claim, outcome, waitMs);
      else this.events.emit('lost', claim.event);
    });
  };

  #tell(claim: HeldClaim, outcome: Outcome, waitMs: number): void {
    if (outcome.kind === 'released' || outcome.kind === 'aborted') {
      this.events.emit(outcome.kind, claim.event);
    } else if (outcome.kind === 'postponed') {
      this.events.emit('postponed', { ...endOf(claim), waitMs });
    } else if (outcome.kind !== 'unbegun') {
      const cause = causeOf(outcome);
      const { onDead } = claim.handler as OnDeadCallHandler;
      const error = `@OnDeadDelay of ${onDead.location}: ${describeError(cause)}`;
      this.events.emit('retrying', withCause({ ...endOf(claim), error, waitMs }, cause));
    }
  }
}

/** Of a claim that is reported here. */
const lastFailureOf = (handler: Handler): LastFailure => (handler as OnDeadCallHandler).lastFailure;

/** What a delay died of that no node could decode, its method could wait for in vain: it comes without its payload. */
function readerOf(read: PayloadReader | undefined, error: string): PayloadReader | undefined {
  const isUndecodable = error.startsWith(CODEC_ERROR);
  const text = read ?? (isUndecodable ? plainly : undefined);
  if (text === undefined || !isUndecodable) return text;
  return async (...given) => {
    try {
      return await text(...given);
    } catch (failure) {
      if (isOf(failure, DelayCodecError)) return undefined;
      throw failure;
    }
  };
}

const CODEC_ERROR = describeError(new DelayCodecError(''));
const plainly: PayloadReader = (text, owner) => decoded(undefined, text, owner);

function causeOf(outcome: Outcome): unknown {
  if ('error' in outcome) return outcome.error;
  return 'reason' in outcome ? outcome.reason : undefined;
}

function waitAfter({ latenessMs }: HeldClaim, outcome: Outcome): number {
  if (outcome.kind === 'postponed' || outcome.kind === 'unbegun') return outcome.waitMs;
  if (outcome.kind === 'released') return 0;
  const waitMs = latenessMs * SHARE_OF_LATENESS;
  return Math.min(AGAIN_MS_MAX, Math.max(AGAIN_MS_MIN, waitMs));
}

/** Delays without an attempt left that wait here; of what is beyond, a sweep tells again. */
const WAITING_MAX = 1_000;

/** A delay whose `@OnDeadDelay` is to be called. */
interface ExhaustedDelay {
  id: number;
  epoch: number;
  handler: HandlerWithOnDead;
  /** Of the attempt that ended just now; undefined when its process died, or the method is called again. */
  held: ExhaustedClaim | undefined;
  /** To be told once, when it is claimed or need not be. */
  over: ExhaustedClaim['over'];
  /** Times that its row was not to be had. */
  tries: number;
}

interface ExhaustedParts {
  wheel: WheelService;
  fenced: FencedParts;
  store: AttemptStore;
  registry: HandlerRegistry;
  completer: Completer;
  inFlight: InFlight;
  names: NameStates;
  events: DelayEvents;
}

/**
 * Calls the methods with `@OnDeadDelay`, each in a transaction that ends with the delay as a dead letter: as an attempt
 * that is none, so that it has a lease, a timeout and a fence as any. One after the other: the pool has a
 * connection for that (`handlersShareOf`).
 */
export class ExhaustedDelays {
  readonly #waiting = new Map<number, ExhaustedDelay>();
  readonly #idle = new Condition();
  readonly #health: TaskHealth;
  #isBusy = false;
  /** Takes over no more rows; what ends here is still brought to its end. */
  #isShut = false;
  #isClosed = false;

  readonly #reports: DeadLetterReports;
  readonly #executor: Executor;

  constructor(private readonly parts: ExhaustedParts) {
    const { store, completer, events, inFlight, names, wheel, fenced } = parts;
    const reports = new DeadLetterReports(store, completer, events);
    const ending = {
      ...fenced,
      store: {
        fence: store.fence.bind(store),
        recur: store.recur.bind(store),
        complete: (...how: Parameters<typeof reports.deadLetter>) => reports.deadLetter(...how),
      },
    };
    this.#executor = new Executor(wheel, ending, reports, inFlight, names, withoutStarts(events));
    this.#reports = reports;
    this.#health = new TaskHealth(events, 'deadLetter');
  }

  /** Takes over a claim whose attempt was the last one. */
  add(held: ExhaustedClaim): void {
    const { id, epoch } = held.claim;
    const handler = held.claim.handler as HandlerWithOnDead;
    this.#add({ id, epoch, handler, held, over: held.over, tries: 0 });
  }

  /** Takes over a row that has no attempt left, if its name has a method for that. */
  takes({ id, epoch, name }: LookedRow): boolean {
    const handler = this.parts.registry.get(name);
    if (!hasOnDead(handler)) return false;
    const isRoom = this.#waiting.size < WAITING_MAX && !this.#isShut;
    if (isRoom && !this.#waiting.has(id)) {
      const over = this.parts.completer.exhausted.enter();
      this.#add({ id, epoch, handler, held: undefined, over, tries: 0 });
    }
    return true;
  }

  /** The node is ending: rows of processes that died are left to others. */
  shut(): void {
    this.#isShut = true;
    for (const [id, { held, over }] of this.#waiting) {
      if (held !== undefined) continue;
      this.#waiting.delete(id);
      over('gone');
    }
  }

  /** Resolves when all is done that waits, or after `withinMs`; what is left then is put off. */
  async drain(withinMs: number): Promise<void> {
    if (this.#isBusy || this.#waiting.size > 0) await within(this.#idle.next, withinMs);
    this.#isClosed = true;
    for (const dying of this.#waiting.values()) this.#putOff(dying);
    this.#waiting.clear();
  }

  close(): void {
    this.#executor.close();
  }

  #add(dying: ExhaustedDelay): void {
    if (this.#isClosed) return this.#putOff(dying);
    // Of an earlier epoch: the row has moved on since.
    this.#waiting.get(dying.id)?.over('gone');
    this.#waiting.set(dying.id, dying);
    this.#next();
  }

  #next(): void {
    if (this.#isBusy || this.#isClosed) return;
    const [dying] = this.#waiting.values();
    if (dying === undefined) return this.#idle.notify();
    this.#waiting.delete(dying.id);
    this.#isBusy = true;
    void this.#claim(dying);
  }

  #free(): void {
    this.#isBusy = false;
    this.#next();
  }

  async #claim(dying: ExhaustedDelay): Promise<void> {
    const { id, epoch, handler, held, over } = dying;
    const leaseMs = Math.max(handler.leaseMs, handler.timeoutMs);
    const request = { id, epoch, leaseMs, maxAttempts: handler.maxAttempts };
    const askedAtMs = performance.now();
    let row: OnDeadRow | undefined;
    let isOurs = false;
    try {
      row = await this.parts.store.claimExhausted(request, held !== undefined);
      isOurs = row === undefined && held !== undefined && (await this.#isOurs(dying));
      this.#health.worked();
    } catch (error) {
      this.#health.failed(error);
      return this.#again(dying, retryPauseMs(dying.tries + 1));
    }
    if (row !== undefined) {
      this.#run(row, { ...handler, leaseMs }, held, askedAtMs + leaseMs);
      over('claimed');
    } else if (isOurs) {
      // The transaction of the last attempt may hold it until its session has ended.
      this.#again(dying, lockedPauseMs(dying.tries + 1));
    } else {
      over('gone');
      this.#free();
    }
  }

  #run(
    row: OnDeadRow,
    handler: HandlerWithOnDead,
    held: ExhaustedClaim | undefined,
    leaseEndsAtMs: number,
  ): void {
    const dead = this.#reports.handlerOf(row, handler, held);
    const { repeat } = extrasOf(row.extras);
    const occurrence = occurrenceOf(repeat, row.due_ms, {
      readMs: row.now_ms,
      leastMs: () => row.now_ms,
    });
    const attempt = new Attempt(row, dead, leaseEndsAtMs, row.now_ms - row.due_ms, occurrence);
    attempt.ends = { state: 'discarded', error: dead.lastFailure.error };
    this.#executor.run(new OnDeadCall(dead, [attempt], { release: () => this.#free() }));
  }

  /** Locked for a moment, and still leased under the epoch of its last attempt. */
  async #isOurs({ id, epoch }: ExhaustedDelay): Promise<boolean> {
    const { store } = this.parts;
    const [row] = await store.lookAt([id]);
    return row?.epoch === epoch && row.leased_by === store.nodeName;
  }

  /** Others come first. What is not held comes again by itself. */
  #again(dying: ExhaustedDelay, waitMs: number): void {
    this.#free();
    if (dying.held === undefined) return dying.over('gone');
    const later = { ...dying, tries: dying.tries + 1 };
    void rest(waitMs).then(() => this.#add(later));
  }

  /** As after a failed attempt: a delay without another one is found by the next node that claims it. */
  #putOff({ held, over }: ExhaustedDelay): void {
    if (held === undefined) return over('gone');
    this.parts.completer.putOff(held.claim, { waitMs: 0, error: held.error }, (result) =>
      over(result === 'written' ? 'claimed' : 'gone'),
    );
  }
}

const hasOnDead = (handler: Handler | undefined): handler is HandlerWithOnDead =>
  handler?.onDead !== undefined;

/** Ends an attempt that ran here, or would wait for the next one: a node that is ending calls it all the same. */
class OnDeadCall extends Call {
  override close(): void {
    this.tellToGiveUp();
  }
}

/** What an executor tells, but that a handler was called: no attempt begins here. */
function withoutStarts(events: DelayEvents): DelayEvents {
  const relay = new DelayEvents();
  relay.on('overrunning', (of) => void events.emit('overrunning', of));
  relay.on('taskFailed', (of) => void events.emit('taskFailed', of));
  relay.on('taskRecovered', (of) => void events.emit('taskRecovered', of));
  return relay;
}
