import { explained } from '../../database/explained.js';
import {
  DelayOutcomeUnknownError,
  DelayShutdownError,
  DelayUnavailableError,
} from '../../delay/delay.errors.js';
import type { Answer, BatchStore, Move, NameAndKey } from '../../store/batch.store.js';
import type { DelayStore } from '../../store/delay.store.js';
import { inLockOrder } from '../../store/wire/lock-order.js';
import type { Placed, NewDelay } from '../../store/wire/delay-rows.js';
import type { Runner } from '../../store/wire/runner.js';
import { keyText } from '../../store/wire/delay-rows.js';
import { refusalOf } from '../../store/write-answers.js';
import { within } from '../../tasks/within.js';
import { Coalescer } from './coalescer.js';
import { KeyQueues } from './key-queues.js';
import { ownError, PendingCall } from './pending-call.js';

/** Of a call's limit: one that has waited so long in the queue of its key is not sent any more, for its answer needs the rest. */
const QUEUE_SHARE = 2 / 3;

/** What coalesced writes are made with. */
export interface CoalescedWritesParts {
  /** For calls that have to wait for a lock. */
  alone: DelayStore;
  /** For all other calls. */
  together: BatchStore;
  /** Each statement a transaction of its own. */
  runners: { alone: Runner; together: Runner };
  /** How long a call may take, from when it is made to its answer, wherever it waits. */
  limits: { readonly limitMs: number };
  /** How long a shutdown waits for answers. */
  drainWithinMs: number;
  /** Where the tables are. */
  schema: string;
}

/**
 * Writes that belong to no transaction of their caller: those of many calls travel in one statement.
 * Each call has the answer, or the error, that it would have had alone.
 */
export class CoalescedWrites {
  readonly #queues = new KeyQueues();
  /** In the order in which they were made. */
  readonly #open = new Set<PendingCall<unknown, Placed>>();
  readonly #scheduling: Coalescer<NewDelay, Placed>;
  readonly #schedulingKeyless: Coalescer<NewDelay, Placed>;
  readonly #cancelling: Coalescer<NameAndKey, Placed>;
  readonly #moving: Coalescer<Move, Placed>;
  /** One for all calls: the first of those that are open is the oldest. */
  #expiry: NodeJS.Timeout | undefined;
  #giveUpAtMs: number | undefined;
  #isClosed = false;

  constructor(private readonly parts: CoalescedWritesParts) {
    const { alone, together, runners } = parts;
    const scheduling = {
      alone: async (delay: NewDelay) => (await alone.place(runners.alone, [delay]))[0] as Placed,
      lengthOf: ({ payload }: NewDelay) => payload.length,
    };
    this.#scheduling = new Coalescer({
      ...scheduling,
      together: (delays, answer) => this.#scheduleTogether(delays, answer),
    });
    this.#schedulingKeyless = new Coalescer({
      ...scheduling,
      together: (delays, answer) => together.placeKeyless(runners.together, delays, answer),
    });
    this.#cancelling = new Coalescer({
      together: (targets, answer) => together.cancel(runners.together, targets, answer),
      alone: ({ name, key }) => alone.cancel(runners.alone, name, key),
      lengthOf: () => 0,
    });
    this.#moving = new Coalescer({
      together: (moves, answer) => together.reschedule(runners.together, moves, answer),
      alone: ({ name, key, to }) => alone.reschedule(runners.alone, name, key, to),
      lengthOf: () => 0,
    });
  }

  /** @throws DelayConflictError, DelayUnstableError, DelayUnavailableError, DelayOutcomeUnknownError,
   * DelayShutdownError, and what Postgres says */
  schedule(delay: NewDelay): Promise<Placed> {
    return this.#run(delay.key === null ? this.#schedulingKeyless : this.#scheduling, delay);
  }

  /** `cancelled`, `running` or `absent`. */
  cancel(target: NameAndKey): Promise<Placed> {
    return this.#run(this.#cancelling, target);
  }

  /** `rescheduled`, `running` or `absent`. */
  reschedule(move: Move): Promise<Placed> {
    return this.#run(this.#moving, move);
  }

  /** Whether a call would come too late. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Drains the calls made so far, after which there may be no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.drain();
    clearTimeout(this.#expiry);
  }

  /**
   * Resolves when all calls made so far have their answers. Calls without an answer `drainWithinMs` after
   * the first drain are rejected, and may have happened: a pool that has ended never
   * answers a caller that still waits for a connection.
   */
  async drain(): Promise<void> {
    this.#giveUpAtMs ??= performance.now() + this.parts.drainWithinMs;
    const calls = [...this.#open];
    if (calls.length === 0) return;
    const answered = Promise.allSettled(calls.map(({ answer }) => answer));
    await within(answered, Math.max(0, this.#giveUpAtMs - performance.now()));
    // In the order in which they were made, so that each is first in the queue of its key.
    for (const pending of calls) pending.reject(new DelayShutdownError());
  }

  /** The one `await` of a call: each costs it a promise, and many callers wait at a time. */
  async #run<Call extends Pick<NewDelay, 'name' | 'key'>>(
    coalescer: Coalescer<Call, Placed>,
    call: Call,
  ): Promise<Placed> {
    const key = call.key === null ? undefined : keyText(call);
    const pending: PendingCall<Call, Placed> = new PendingCall(call, () => {
      this.#open.delete(pending);
      if (key !== undefined) this.#queues.leave(key);
    });
    this.#open.add(pending);
    if (this.#expiry === undefined) this.#expireNext();
    if (key === undefined || this.#queues.enter(key)) coalescer.add(pending);
    else {
      this.#queues.wait(key, () => {
        const waitedMs = performance.now() - pending.madeAtMs;
        if (waitedMs > this.#limitMs * QUEUE_SHARE) giveUp(pending, waitedMs);
        else coalescer.add(pending);
      });
    }
    let placed: Placed;
    try {
      placed = await pending.answer;
    } catch (error) {
      throw explained(ownError(error), this.parts.schema);
    }
    const refusal = refusalOf(placed, call);
    if (refusal !== undefined) throw refusal;
    return placed;
  }

  get #limitMs(): number {
    return this.parts.limits.limitMs;
  }

  /** Looks after the limit of the oldest call. No process lives for it. */
  #expireNext(): void {
    const [oldest] = this.#open;
    if (oldest === undefined || this.#isClosed) return void (this.#expiry = undefined);
    const leftMs = oldest.madeAtMs + this.#limitMs - performance.now();
    this.#expiry = setTimeout(() => this.#expire(), Math.max(1, leftMs)).unref();
  }

  #expire(): void {
    const limitMs = this.#limitMs;
    for (const pending of this.#open) {
      if (performance.now() - pending.madeAtMs < limitMs) break;
      if (!pending.isSent) giveUp(pending, limitMs);
      else {
        const why = new Error(`the server did not answer within ${limitMs} ms`);
        pending.reject(new DelayOutcomeUnknownError(why));
      }
    }
    this.#expireNext();
  }

  /** Writes in the order in which all callers lock. */
  async #scheduleTogether(delays: readonly NewDelay[], answer: Answer): Promise<void> {
    const { sorted, indexes } = inLockOrder(delays);
    const { together, runners } = this.parts;
    await together.place(runners.together, sorted, (position, placed) =>
      answer(indexes[position] as number, placed),
    );
  }
}

/** In a microtask: in a long queue each call would otherwise be rejected inside the call before it. */
function giveUp(pending: Pick<PendingCall<unknown, Placed>, 'reject'>, afterMs: number): void {
  const error = new DelayUnavailableError(
    `earlier calls, about the same key or about others, took longer than ${Math.round(afterMs)} ms`,
  );
  queueMicrotask(() => pending.reject(error));
}
