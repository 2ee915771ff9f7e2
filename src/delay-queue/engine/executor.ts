import { DelayTimeoutError, DiscardDelay, PostponeDelay } from '../delay.errors.js';
import type { EntityManager } from 'typeorm';
import type { Delay, DelayContext } from '../delay.js';
import type { DelayEvents } from '../delay.events.js';
import { parseDurationMs } from '../validation/duration.js';
import type { WheelChannel } from '../wheel/wheel.channel.js';
import type { WheelService } from '../wheel/wheel.service.js';
import type { Acknowledger } from './acknowledger.js';
import type { Attempt, Outcome } from './attempt.js';
import { runAs } from './current-attempt.js';
import { FencedTransaction, type FencedParts } from './fenced-transaction.js';
import type { Slots } from './slots.js';

/** Runs attempts: start the timeout, run the handler, decide the outcome, report it. */
export class Executor {
  readonly #timeouts: WheelChannel;
  readonly #timed = new Map<number, Attempt>();

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

  /** Resolves when the attempt is decided; what it left to be written is with the acknowledger. */
  async run(attempt: Attempt): Promise<void> {
    this.events.emit('started', attempt.event);
    const stopTimeout = this.#startTimeout(attempt);
    let settled = false;
    const work = this.#work(attempt).finally(() => {
      settled = true;
    });
    const outcome = await Promise.race([work, attempt.whenCut]);
    attempt.over = true;
    stopTimeout();
    if (!settled) this.#linger(attempt, work);
    this.acknowledger.report(attempt, outcome);
  }

  close(): void {
    this.#timeouts.close();
  }

  #work(attempt: Attempt): Promise<Outcome> {
    if (!attempt.handler.transactional) return this.#invoke(attempt);
    return new FencedTransaction(this.fenced, attempt).run(() => this.#invoke(attempt));
  }

  async #invoke(attempt: Attempt): Promise<Outcome> {
    try {
      const delay = delayOf(attempt);
      await runAs(attempt, () => attempt.handler.invoke(delay, contextOf(attempt)));
      return { kind: 'completed' };
    } catch (error) {
      return outcomeOf(error, attempt);
    }
  }

  #startTimeout(attempt: Attempt): () => void {
    const deadlineMs = performance.now() + attempt.handler.timeoutMs;
    const timer = this.#timeouts.add(deadlineMs, attempt.serial);
    this.#timed.set(attempt.serial, attempt);
    return () => {
      this.#timed.delete(attempt.serial);
      if (timer !== undefined) this.#timeouts.cancel(timer);
    };
  }

  #timedOut(serial: number): void {
    const attempt = this.#timed.get(serial);
    if (attempt === undefined) return;
    const error = new DelayTimeoutError(attempt.handler.timeoutMs);
    attempt.abort(error);
    attempt.cut({ kind: 'failed', error });
  }

  /** The handler goes on although nobody listens: counted, so that it cannot pile up unseen. */
  #linger(attempt: Attempt, work: Promise<Outcome>): void {
    const lingering = this.slots.linger(attempt.name);
    this.events.emit('lingering', { ...attempt.event, lingering });
    void work.finally(() => this.slots.lingerNoMore(attempt.name));
  }
}

/** Whatever was thrown: even `instanceof` can throw, on a revoked Proxy. */
function outcomeOf(error: unknown, attempt: Attempt): Outcome {
  try {
    return meantBy(error, attempt);
  } catch {
    return { kind: 'failed', error };
  }
}

function meantBy(error: unknown, attempt: Attempt): Outcome {
  if (error instanceof DiscardDelay) return { kind: 'discarded', reason: error.reason };
  if (error instanceof PostponeDelay) {
    try {
      return { kind: 'postponed', waitMs: parseDurationMs(error.after, 'after') };
    } catch (invalid) {
      return { kind: 'failed', error: invalid };
    }
  }
  return attempt.closing ? { kind: 'released' } : { kind: 'failed', error };
}

function delayOf({ row, latenessMs }: Attempt): Delay {
  return {
    id: String(row.id),
    name: row.name,
    key: row.key,
    payload: JSON.parse(row.payload) as unknown,
    dueAt: new Date(row.due_ms),
    createdAt: new Date(row.created_ms),
    attempt: row.attempts,
    maxAttempts: row.max_attempts,
    latenessMs,
  } as Delay;
}

/** A getter, so that an AbortController is made only for handlers that look at it. */
function contextOf(attempt: Attempt): DelayContext & { manager: EntityManager | undefined } {
  return {
    get signal(): AbortSignal {
      return attempt.signal;
    },
    manager: attempt.manager,
  };
}
