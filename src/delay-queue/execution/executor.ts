import { DelayTimeoutError, DelayUnbegunError } from '../delay/delay.errors.js';
import type { DelayEvents } from '../delay/delay.events.js';
import type { WheelService } from '../wheel/wheel.service.js';
import type { Acknowledger } from '../settlement/acknowledger.js';
import { type Deadline, Deadlines } from '../wheel/deadlines.js';
import { argumentsOf } from './call/handler-arguments.js';
import type { Attempt } from './call/attempt.js';
import type { Outcome } from '../settlement/outcome.js';
import { BeginRest } from './transaction/begin-rest.js';
import type { Call } from './call/call.js';
import { runAs } from '../producer/transaction/handler-context.js';
import { FencedTransaction, type FencedParts } from './transaction/fenced-transaction.js';
import { outcomeOf } from './call/outcome-of.js';
import type { Slots } from './concurrency-limits.js';

/** Who is told of the end of a call. */
export interface CallEnd {
  /** What is left to be written is with the acknowledger. */
  onDecided: () => void;
  /** Its place is free. */
  onVacant: () => void;
}

/** A call whose handler, or whose transaction, has not settled yet. */
interface Running {
  first: Attempt;
  outcome: Promise<Outcome>;
  timeout: Deadline | undefined;
  transaction?: FencedTransaction;
}

/** Runs calls: start the timeout, run the handler, decide the outcome, report it. */
export class Executor {
  readonly #deadlines: Deadlines;
  readonly #beginRest: BeginRest;

  constructor(
    wheel: WheelService,
    private readonly fenced: FencedParts,
    private readonly acknowledger: Acknowledger,
    private readonly slots: Slots,
    private readonly events: DelayEvents,
  ) {
    this.#deadlines = new Deadlines(wheel, slots.inAll);
    this.#beginRest = new BeginRest(events);
  }

  /** A handler that returns no promise is decided, and its place given away, before this returns. */
  run(call: Call, end: CallEnd): void {
    if (call.handler.transactional) this.#runFenced(call, end);
    else this.#runPlain(call, end);
  }

  close(): void {
    this.#deadlines.close();
  }

  #runPlain(call: Call, end: CallEnd): void {
    const endsAtMs = performance.now() + call.handler.timeoutMs;
    const [first] = call.attempts as [Attempt];
    const outcome = this.#invoke(call);
    if (outcome instanceof Promise) {
      const timeout = this.#deadlines.set(endsAtMs, () => timeOut(call));
      this.#await(call, { first, outcome, timeout }, end);
      return;
    }
    this.#decide(call, outcome);
    end.onDecided();
    end.onVacant();
  }

  /** Its lease is not renewed: half of it may go by until the handler is called. */
  #runFenced(call: Call, end: CallEnd): void {
    const { leaseMs, timeoutMs } = call.handler;
    const [first] = call.attempts as [Attempt];
    const transaction = new FencedTransaction(this.fenced, call);
    const beginAtMs = performance.now() + leaseMs / 2;
    const timeout = this.#deadlines.set(beginAtMs, () => timeOut(call));
    const outcome = transaction.run(() => {
      this.#beginRest.worked();
      timeout?.move(Math.min(performance.now() + timeoutMs, call.leaseEndsAtMs));
      return this.#invoke(call);
    });
    this.#await(call, { first, outcome, timeout, transaction }, end);
  }

  /** Whatever comes first decides the call: its handler, its timeout, or whoever cuts it. */
  #await(call: Call, { first, outcome, timeout, transaction }: Running, end: CallEnd): void {
    const decide = (its: Outcome): void => {
      timeout?.off();
      const rests = its.kind === 'unbegun' ? this.#unbegun(its.error) : undefined;
      this.#decide(call, rests ?? its);
      end.onDecided();
      // While one waits for its connection, and for a while after, another would do no better.
      if (rests) void outcome.finally(() => this.#rest(rests.waitMs, end.onVacant));
      else end.onVacant();
    };
    call.onCut = (its) => {
      if (call.over) return;
      decide(its);
      transaction?.cut();
      if (call.called) this.#linger(first, outcome);
    };
    void outcome.then((its) => {
      if (!call.over) decide(its);
    });
  }

  #unbegun(error: unknown): Outcome & { kind: 'unbegun' } {
    const waitMs = this.#beginRest.failed(error, performance.now());
    return { kind: 'unbegun', error, waitMs };
  }

  #rest(forMs: number, onVacant: () => void): void {
    if (this.#deadlines.set(performance.now() + forMs, onVacant) === undefined) onVacant();
  }

  #decide(call: Call, outcome: Outcome): void {
    call.over = true;
    for (const [attempt, its] of call.outcomes(outcome)) this.acknowledger.report(attempt, its);
  }

  #invoke(call: Call): Outcome | Promise<Outcome> {
    call.called = true;
    this.#tellStarted(call);
    try {
      const { work, ctx } = argumentsOf(call);
      const result: unknown = runAs(call, () => call.handler.invoke(work, ctx));
      if (!mayBePromise(result)) return COMPLETED;
      return Promise.resolve(result).then(
        () => COMPLETED,
        (error: unknown) => outcomeOf(error, call.closing),
      );
    } catch (error) {
      return outcomeOf(error, call.closing);
    }
  }

  #tellStarted(call: Call): void {
    if (!this.events.isHeard('started')) return;
    for (const attempt of call.attempts) this.events.emit('started', attempt.event);
  }

  /** The handler goes on although nobody listens: counted, so that it cannot pile up unseen. */
  #linger({ name, event }: Attempt, outcome: Promise<Outcome>): void {
    const lingering = this.slots.linger(name);
    this.events.emit('lingering', { ...event, lingering });
    void outcome.finally(() => this.slots.lingerNoMore(name));
  }
}

function timeOut(call: Call): void {
  const { leaseMs, timeoutMs } = call.handler;
  if (!call.called) {
    return call.cut({ kind: 'unbegun', error: new DelayUnbegunError(leaseMs / 2), waitMs: 0 });
  }
  const error = new DelayTimeoutError(timeoutMs);
  call.abort(error);
  call.cut({ kind: 'failed', error });
}

const COMPLETED: Outcome = { kind: 'completed' };

const mayBePromise = (result: unknown): boolean =>
  (typeof result === 'object' && result !== null) || typeof result === 'function';
