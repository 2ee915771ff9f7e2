import { inOwnScope } from '../tasks/own-scope.js';
import { type Deadline, Deadlines } from '../timer-wheel/deadlines.js';
import type { Attempt, Outcome } from './attempt.js';
import { BeginCoolDown } from './begin-cool-down.js';
import { AttemptStarts } from './attempt-reports.js';
import type { Call } from './call.js';
import type { WorkerContext } from './context.js';
import { FencedTransaction } from './fenced-transaction.js';
import type { NameStates } from './name-state.js';
import { awaitedLocks } from './timeout-cause.js';
import { invoke } from './invoke.js';
import { OwnTransaction } from './own-transaction.js';

/** An aborted handler that heeds its signal ends within this time, and is not reported. */
const QUIET_MS = 1_000;

/** A delay that could not begin waits at most this long, once that is written. */
const GIVEN_BACK_MS_MAX = 500;

/** What began with a call, and may outlast its decision. */
interface CallRun {
  outcome: Promise<Outcome>;
  timeout: Deadline | undefined;
  transaction?: FencedTransaction;
}

export interface ExecutorParts extends Pick<
  WorkerContext,
  'wheel' | 'dataSource' | 'store' | 'connections' | 'registry' | 'options' | 'events'
> {
  completer: { report(attempt: Attempt, outcome: Outcome): void };
  names: Pick<NameStates, 'inAll' | 'overrun' | 'overrunEnded'>;
}

/** Runs calls: invokes the handler, decides the outcome, reports it, and releases the slot. */
export class Executor {
  readonly #deadlines: Deadlines;
  /** Of calls that released their slots, so that they take no room from the deadlines above. */
  readonly #quiet: Deadlines;
  readonly #beginCoolDown: BeginCoolDown;
  readonly #starts: AttemptStarts;

  constructor(private readonly parts: ExecutorParts) {
    const { wheel, names, registry, events, options } = parts;
    // A call of `@OnDeadDelay` takes no slot; one runs at a time.
    const callsMax = names.inAll + (registry.all().some(({ onDead }) => onDead) ? 1 : 0);
    this.#deadlines = new Deadlines(wheel, callsMax);
    this.#quiet = new Deadlines(wheel, callsMax);
    this.#beginCoolDown = new BeginCoolDown(events);
    this.#starts = new AttemptStarts(events, options.nodeName, options.telemetry);
  }

  /** If the handler returns no promise, the outcome is decided and the slot free on return. */
  run(call: Call): void {
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
    const { timeoutMs, own } = call.handler;
    // Its lease is not renewed: the row may be locked by its own removal.
    const latestMs = own ? call.leaseEndsAtMs : Infinity;
    const endsAtMs = Math.min(performance.now() + timeoutMs, latestMs);
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
    const transaction = new FencedTransaction(this.parts, call);
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
    const locks = call.called ? await awaitedLocks(this.parts.connections, call.pid) : [];
    if (!call.over) call.timeOut(locks);
  }

  #invoke(call: Call): Outcome | Promise<Outcome> {
    const nowMs = performance.now();
    for (const attempt of call.attempts) attempt.calledAtMs = nowMs;
    return call.handler.own ? this.#inOwn(call) : this.#starts.begin(call, invoke);
  }

  async #inOwn(call: Call): Promise<Outcome> {
    const own = new OwnTransaction(this.parts.store, this.parts.connections, call);
    call.complete = own.complete;
    return await own.end(await this.#starts.begin(call, invoke));
  }

  /** Whatever comes first decides the call: its handler, its timeout, or the end of its lease. */
  #await(call: Call, running: CallRun): void {
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

  #end(call: Call, running: CallRun, outcome: Outcome): void {
    running.timeout?.off();
    if (outcome.kind === 'unbegun') this.#unbegun(call, running, outcome.error);
    else this.end(call, outcome);
  }

  /** While one waits for its connection, and for a while after, another would do no better. */
  #unbegun(call: Call, { outcome }: CallRun, error: unknown): void {
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
  readonly #report = (attempt: Attempt, outcome: Outcome): void =>
    this.parts.completer.report(attempt, outcome);

  /** The handler still runs although its result is dropped: counted, so it cannot pile up unseen. */
  #overrun({ name, event }: Attempt, outcome: Promise<Outcome>, quietMs: number): void {
    const overrunning = this.parts.names.overrun(name);
    const tell = (): void => void this.parts.events.emit('overrunning', { ...event, overrunning });
    const later = quietMs > 0 ? this.#quiet.set(performance.now() + quietMs, tell) : undefined;
    if (later === undefined) tell();
    void outcome.finally(() => {
      later?.off();
      this.parts.names.overrunEnded(name);
    });
  }
}
