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
    this.#timeouts = wheel.channel((serials) => {
      for (const serial of serials) this.#timedOut(serial);
    });
  }

  /** Resolves when the call is decided; what it left to be written is with the acknowledger. */
  async run(call: Call): Promise<void> {
    const [first] = call.attempts as [Attempt];
    for (const attempt of call.attempts) this.events.emit('started', attempt.event);
    const stopTimeout = this.#startTimeout(call, first.serial);
    let settled = false;
    const work = this.#work(call).finally(() => {
      settled = true;
    });
    const outcome = await Promise.race([work, call.whenCut]);
    call.over = true;
    stopTimeout();
    if (!settled) this.#linger(first, work);
    for (const [attempt, its] of call.outcomes(outcome)) this.acknowledger.report(attempt, its);
  }

  close(): void {
    this.#timeouts.close();
  }

  #work(call: Call): Promise<Outcome> {
    if (!call.handler.transactional) return this.#invoke(call);
    return new FencedTransaction(this.fenced, call).run(() => this.#invoke(call));
  }

  async #invoke(call: Call): Promise<Outcome> {
    try {
      const { work, ctx } = argumentsOf(call);
      await runAs(call, () => call.handler.invoke(work, ctx));
      return { kind: 'completed' };
    } catch (error) {
      return outcomeOf(error, call.closing);
    }
  }

  #startTimeout(call: Call, serial: number): () => void {
    const deadlineMs = performance.now() + call.handler.timeoutMs;
    const timer = this.#timeouts.add(deadlineMs, serial);
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
  #linger({ name, event }: Attempt, work: Promise<Outcome>): void {
    const lingering = this.slots.linger(name);
    this.events.emit('lingering', { ...event, lingering });
    void work.finally(() => this.slots.lingerNoMore(name));
  }
}
