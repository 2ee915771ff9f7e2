import { DelayTimeoutError } from '../delay.errors.js';
import type { DelayEvents } from '../delay.events.js';
import type { WheelChannel } from '../wheel/wheel.channel.js';
import type { WheelService } from '../wheel/wheel.service.js';
import type { Acknowledger } from './acknowledger.js';
import { argumentsOf } from './call-arguments.js';
import type { Attempt, Outcome } from './attempt.js';
import type { Call } from './call.js';
import { runAs } from './current-call.js';
import { FencedTransaction, type FencedParts } from './fenced-transaction.js';
import { outcomeOf } from './outcome-of.js';
import type { Slots } from './slots.js';

/** Runs calls: start the timeout, run the handler, decide the outcome, report it. */
export class Executor {
  readonly #timeouts: WheelChannel;
  readonly #timed = new Map<number, Call>();

  constructor(
    wheel: WheelService,
    private readonly fenced: FencedParts,
    private readonly acknowledger: Acknowledger,
    private readonly slots: Slots,
    private readonly events: DelayEvents,
  ) {
    // As many as may ever be in flight: every handler has its timeout, whatever waits in other wheels.
    this.#timeouts = wheel.channel((serials) => {
      for (const serial of serials) this.#timedOut(serial);
    }, slots.inAll);
  }

  /**
   * A handler that returns no promise is decided, and its place given away, before this returns.
   *
   * @param onDecided what is left to be written is with the acknowledger
   */
  run(call: Call, onDecided: () => void): void {
    const [first] = call.attempts as [Attempt];
    const startedAtMs = performance.now();
    this.#tellStarted(call);
    const transaction = call.handler.transactional
      ? new FencedTransaction(this.fenced, call)
      : undefined;
    const outcome = transaction ? transaction.run(() => this.#invoke(call)) : this.#invoke(call);
    if (!(outcome instanceof Promise)) {
      this.#decide(call, outcome);
      onDecided();
      return;
    }
    const stopTimeout = this.#startTimeout(call, first.serial, startedAtMs);
    const decide = (its: Outcome): void => {
      stopTimeout();
      this.#decide(call, its);
      onDecided();
    };
    call.onCut = (its) => {
      if (call.over) return;
      decide(its);
      transaction?.cut();
      this.#linger(first, outcome);
    };
    void outcome.then((its) => {
      if (!call.over) decide(its);
    });
  }

  close(): void {
    this.#timeouts.close();
  }

  #tellStarted(call: Call): void {
    if (!this.events.isHeard('started')) return;
    for (const attempt of call.attempts) this.events.emit('started', attempt.event);
  }

  #decide(call: Call, outcome: Outcome): void {
    call.over = true;
    for (const [attempt, its] of call.outcomes(outcome)) this.acknowledger.report(attempt, its);
  }

  #invoke(call: Call): Outcome | Promise<Outcome> {
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

  #startTimeout(call: Call, serial: number, startedAtMs: number): () => void {
    const timer = this.#timeouts.add(startedAtMs + call.handler.timeoutMs, serial);
    this.#timed.set(serial, call);
    return () => {
      this.#timed.delete(serial);
      if (timer !== undefined) this.#timeouts.cancel(timer);
    };
  }

  #timedOut(serial: number): void {
    const call = this.#timed.get(serial);
    if (call === undefined) return;
    const error = new DelayTimeoutError(call.handler.timeoutMs);
    call.abort(error);
    call.cut({ kind: 'failed', error });
  }

  /** The handler goes on although nobody listens: counted, so that it cannot pile up unseen. */
  #linger({ name, event }: Attempt, outcome: Promise<Outcome>): void {
    const lingering = this.slots.linger(name);
    this.events.emit('lingering', { ...event, lingering });
    void outcome.finally(() => this.slots.lingerNoMore(name));
  }
}

const COMPLETED: Outcome = { kind: 'completed' };

const mayBePromise = (result: unknown): boolean =>
  (typeof result === 'object' && result !== null) || typeof result === 'function';
