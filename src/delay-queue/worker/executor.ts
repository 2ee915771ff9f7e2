import type { EntityManager } from 'typeorm';
import { adopted } from '../api/adopted.js';
import type { AroundFunction, Delay, DelayCall, DelayName } from '../api/delay.js';
import { DelayAroundError, DelayLeaseLostError } from '../api/errors.js';
import type { DelayEvents } from '../api/events.js';
import type { PayloadReader } from '../config/payloads.js';
import { apart, inOwnScope } from '../tasks/own-scope.js';
import { type Deadline, Deadlines, type WheelService } from '../timer-wheel/wheel.service.js';

import { runAs } from '../transactions/handler-context.js';
import type { Attempt, Outcome } from './attempt.js';
import { BeginCoolDown } from './begin-cool-down.js';
import type { AttemptStarts } from './attempt-reports.js';
import {
  argumentsOf,
  argumentsWith,
  type Call,
  type HandlerArguments,
  outcomeOf,
  outcomeOfReading,
} from './call.js';
import type { InFlight } from './claims.js';
import type { Completer } from './completer.js';
import { type FencedParts, FencedTransaction } from './fenced-transaction.js';
import type { NameStates } from './name-state.js';
import { locksOf } from './timeout-cause.js';

/**
 * Calls the handler through its middleware.
 *
 * @param work argument of the handler: its delay, or its delays
 * @param handle calls the handler
 */
export function runMiddleware(
  call: Call,
  work: Delay | Delay[],
  handle: () => unknown,
): Promise<void> {
  return layer(call, new SeenCall(call, work), call.handler.around, handle);
}

async function layer(
  call: Call,
  seen: DelayCall,
  [around, ...inner]: readonly AroundFunction[],
  handle: () => unknown,
): Promise<void> {
  if (around === undefined) return void (await adopted(handle()));
  const inside = new Once(call, () => layer(call, seen, inner, handle));
  try {
    await adopted(around(seen, inside.next));
  } catch (error) {
    await inside.over();
    throw error;
  }
  await inside.lookedAt();
}

/** What one `around` wraps. It runs once, and the attempt does not end before it. */
class Once {
  #running: RunningMiddleware | undefined;
  #isOver = false;

  constructor(
    private readonly call: Call,
    private readonly run: () => Promise<void>,
  ) {}

  /** Throws instead of rejecting: an unhandled rejection would end the process. */
  readonly next = (): Promise<void> => {
    if (this.#running !== undefined) {
      throw new DelayAroundError('around called next() twice; the handler ran once');
    }
    // The call was cut, by its timeout for example: the delay may run elsewhere already.
    if (this.call.over || this.#isOver) {
      this.call.signal.throwIfAborted();
      throw new DelayAroundError('around called next() after the end; the handler did not run');
    }
    // The process stood still past the lease: another node may have the row.
    if (this.call.leaseEndsAtMs <= performance.now()) throw new DelayLeaseLostError();
    this.#running = RunningMiddleware.from(this.run);
    return this.#running;
  };

  /** The `around` threw: no other attempt begins while what it wraps still runs. */
  async over(): Promise<void> {
    this.#isOver = true;
    await this.#running?.ended;
  }

  /** @throws what the `around` did not see */
  async lookedAt(): Promise<void> {
    const running = this.#running;
    if (running === undefined) {
      this.#isOver = true;
      throw new DelayAroundError(
        'around ended without calling next(), so the handler did not run; ' +
          'to skip it on purpose, throw DiscardDelay or PostponeDelay',
      );
    }
    const wasSeen = running.isAwaited && running.isOver;
    await this.over();
    if (!wasSeen) await running;
  }
}

/** A promise that knows whether it is awaited: an error must not get lost unseen. */
class RunningMiddleware extends Promise<void> {
  isAwaited!: boolean;
  isOver!: boolean;
  /** Never rejects. */
  ended!: Promise<void>;

  static from(run: () => Promise<void>): RunningMiddleware {
    const running = new RunningMiddleware((resolve) => {
      resolve(run());
    });
    running.isOver = false;
    const over = (): void => {
      running.isOver = true;
    };
    running.ended = running.then(over, over);
    running.isAwaited = false;
    return running;
  }

  /** `then` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise has one
  override then<A = void, B = never>(
    onFulfilled?: ((value: void) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true;
    return super.then(onFulfilled, onRejected);
  }
}

class SeenCall implements DelayCall {
  readonly #call: Call;
  readonly name: DelayName;
  readonly delays: DelayCall['delays'];
  readonly manager: EntityManager | undefined;

  constructor(call: Call, work: Delay | Delay[]) {
    this.#call = call;
    this.name = call.handler.name as DelayName;
    this.delays = (Array.isArray(work) ? [...work] : [work]) as unknown as DelayCall['delays'];
    this.manager = call.manager;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

/**
 * Reads the payloads of a call. Another node may read what this one cannot, or this one after a
 * deploy: a newer version of the application wrote it, for example, or with a new key.
 *
 * @returns the payloads that the handler gets, or the outcome of a call without any
 */
export async function readPayloads(
  call: Call,
  read: PayloadReader,
): Promise<Map<Attempt, unknown> | Outcome> {
  const payloads = new Map<Attempt, unknown>();
  const unread = new Map<Attempt, Outcome>();
  call.isReading = true;
  for (const attempt of call.attempts) {
    if (call.over) break;
    try {
      payloads.set(attempt, await read(attempt.row.payload, attempt));
    } catch (error) {
      if (attempt.onDead?.isUndecodable(error)) payloads.set(attempt, undefined);
      else unread.set(attempt, outcomeOfReading(error, call.stopping));
    }
  }
  call.isReading = false;
  // Decided meanwhile, or about to be: this process stood still, and another node has the row.
  if (call.over || call.leaseEndsAtMs <= performance.now()) return { kind: 'lost' };
  if (call.stopping === 'released' && call.onDead === null) return { kind: 'released' };
  for (const attempt of payloads.keys()) if (attempt.over) payloads.delete(attempt);
  if (call.handler.batch === null) return [...unread.values()][0] ?? payloads;
  for (const [{ id }, outcome] of unread) call.say(String(id), outcome);
  return payloads.size === 0 ? { kind: 'completed' } : payloads;
}

const COMPLETED: Outcome = { kind: 'completed' };

/**
 * Calls the handler.
 * @returns the outcome; a promise, which costs a turn, only if the handler returned one or payloads
 * have to be read
 */
function invoke(call: Call): Outcome | Promise<Outcome> {
  call.called = true;
  const { readPayload } = call.handler;
  return readPayload === undefined ? handled(call, argumentsOf) : afterReading(call, readPayload);
}

async function afterReading(call: Call, readPayload: PayloadReader): Promise<Outcome> {
  const read = await readPayloads(call, readPayload);
  if (!(read instanceof Map)) return read;
  return handled(call, () => argumentsWith(call, read));
}

function handled(
  call: Call,
  argumentsFor: (call: Call) => HandlerArguments,
): Outcome | Promise<Outcome> {
  let given: HandlerArguments;
  try {
    given = argumentsFor(call);
  } catch (error) {
    return outcomeOfReading(error, call.stopping);
  }
  try {
    const { work, ctx } = given;
    const { handler } = call;
    const handle = (): unknown => adopted(handler.invoke(work, ctx));
    const isBare = handler.around.length === 0;
    const run = (): unknown =>
      runAs(call, isBare ? handle : () => runMiddleware(call, work, handle));
    // The next plain call begins in the same turn, a transaction in a context of its own.
    const result = handler.transactional ? run() : apart(run);
    if (!(result instanceof Promise)) return COMPLETED;
    return result.then(
      () => COMPLETED,
      (error: unknown) => outcomeOf(error, call.stopping),
    );
  } catch (error) {
    return outcomeOf(error, call.stopping);
  }
}

/** An aborted handler that heeds its signal ends within this time, and is not reported. */
const QUIET_MS = 1_000;

/** A delay that could not begin waits at most this long, once that is written. */
const GIVEN_BACK_MS_MAX = 500;

/** What began with a call, and may outlast its decision. */
interface Running {
  outcome: Promise<Outcome>;
  timeout: Deadline | undefined;
  transaction?: FencedTransaction;
}

/** Runs calls: invokes the handler, decides the outcome, reports it, and releases the slot. */
export class Executor {
  readonly #deadlines: Deadlines;
  /** Of calls that released their slots, so that they take no room from the deadlines above. */
  readonly #quiet: Deadlines;
  readonly #beginCoolDown: BeginCoolDown;

  constructor(
    wheel: WheelService,
    private readonly fenced: FencedParts,
    private readonly completer: Pick<Completer, 'report'>,
    private readonly inFlight: InFlight,
    private readonly names: Pick<NameStates, 'overrun' | 'overrunEnded'>,
    private readonly events: DelayEvents,
    callsMax: number,
    private readonly starts: AttemptStarts,
  ) {
    this.#deadlines = new Deadlines(wheel, callsMax);
    this.#quiet = new Deadlines(wheel, callsMax);
    this.#beginCoolDown = new BeginCoolDown(events);
  }

  /** If the handler returns no promise, the outcome is decided and the slot free on return. */
  run(call: Call): void {
    for (const attempt of call.attempts) this.inFlight.add(attempt);
    // A freed connection may begin the next call in the turn of a listener that entered a context.
    if (call.handler.transactional) inOwnScope(() => this.#inTransaction(call));
    else this.#plainly(call);
  }

  /** Reports the outcome of a call, and releases its slot. */
  end(call: Call, outcome: Outcome, atOnce = false): void {
    call.end(outcome, this.#report);
    call.slot.release(atOnce);
  }

  close(): void {
    for (const each of [this.#deadlines, this.#quiet]) each.close();
  }

  #plainly(call: Call): void {
    const endsAtMs = performance.now() + call.handler.timeoutMs;
    const outcome = this.#invoke(call);
    if (outcome instanceof Promise) {
      const timeout = this.#deadlines.set(endsAtMs, () => void this.#timeOut(call));
      this.#await(call, { outcome, timeout });
    } else {
      this.end(call, outcome, true);
    }
  }

  /** Its lease is not renewed: half of it may go by until the handler is called. */
  #inTransaction(call: Call): void {
    const { leaseMs, timeoutMs } = call.handler;
    const transaction = new FencedTransaction(this.fenced, call);
    const beginsByMs = performance.now() + leaseMs / 2;
    const timeout = this.#deadlines.set(beginsByMs, () => void this.#timeOut(call));
    const outcome = transaction.run(() => {
      this.#beginCoolDown.worked();
      timeout?.move(Math.min(performance.now() + timeoutMs, call.leaseEndsAtMs));
      return this.#invoke(call);
    });
    this.#await(call, { outcome, timeout, transaction });
  }

  /** Asks first what the handler waits for: with its session, its locks are gone. */
  async #timeOut(call: Call): Promise<void> {
    const locks = call.called ? await locksOf(this.fenced.engine, call.pid) : [];
    if (!call.over) call.timeOut(locks);
  }

  #invoke(call: Call): Outcome | Promise<Outcome> {
    const nowMs = performance.now();
    for (const attempt of call.attempts) attempt.calledAtMs = nowMs;
    return this.starts.begin(call, invoke);
  }

  /** Whatever comes first decides the call: its handler, its timeout, or the end of its lease. */
  #await(call: Call, running: Running): void {
    const [first] = call.attempts as readonly [Attempt];
    call.onCut = (outcome) => {
      this.#end(call, running, outcome);
      running.transaction?.cut();
      if (!call.called) return;
      this.#overrun(first, running.outcome, outcome.kind === 'aborted' ? QUIET_MS : 0);
    };
    call.onLate = () => this.#overrun(first, running.outcome, 0);
    void running.outcome.then((outcome) => {
      if (call.over) return;
      this.#end(call, running, call.stopping === undefined ? (call.late ?? outcome) : outcome);
    });
  }

  #end(call: Call, running: Running, outcome: Outcome): void {
    running.timeout?.off();
    if (outcome.kind === 'unbegun') this.#unbegun(call, running, outcome.error);
    else this.end(call, outcome);
  }

  /** While one waits for its connection, and for a while after, another would do no better. */
  #unbegun(call: Call, { outcome }: Running, error: unknown): void {
    const restMs = this.#beginCoolDown.failed(error, performance.now());
    // The cool-down keeps this node from claiming it at once. Another node may do better.
    const waitMs = Math.min(restMs, GIVEN_BACK_MS_MAX);
    call.end({ kind: 'unbegun', error, waitMs }, this.#report);
    void outcome.finally(() => this.#rest(call, restMs));
  }

  /** Keeps the slot of a call that could not begin, for `ms` or until another task works again. */
  #rest({ slot }: Call, ms: number): void {
    let isKept = true;
    const release = (): void => {
      if (!isKept) return;
      isKept = false;
      deadline?.off();
      off();
      slot.release();
    };
    const off = this.#beginCoolDown.whenAnotherWorks(release);
    const deadline = this.#deadlines.set(performance.now() + ms, release);
    if (deadline === undefined) release();
  }

  /** One for all calls. */
  readonly #report = (attempt: Attempt, outcome: Outcome): void => {
    this.completer.report(attempt, outcome);
    this.inFlight.delete(attempt);
  };

  /** The handler still runs although its result is dropped: counted, so it cannot pile up unseen. */
  #overrun({ name, event }: Attempt, outcome: Promise<Outcome>, quietMs: number): void {
    const overrunning = this.names.overrun(name);
    const tell = (): void => void this.events.emit('overrunning', { ...event, overrunning });
    const later = quietMs > 0 ? this.#quiet.set(performance.now() + quietMs, tell) : undefined;
    if (later === undefined) tell();
    void outcome.finally(() => {
      later?.off();
      this.names.overrunEnded(name);
    });
  }
}
