import {
  DelayShutdownError,
  DelayOutcomeUnknownError,
  DelayUnavailableError,
} from '../api/errors.js';
import type { ResolvedOptions } from '../config/options.js';
import { explainError } from '../database/driver-errors.js';
import type { DelayStore, BatchAnswer } from '../store/delay.store.js';
import {
  type Placed,
  type NewDelay,
  type NameAndKey,
  type Move,
  inLockOrder,
} from '../store/rows/delay-rows.js';
import { takenKeyError } from '../store/write-answers.js';
import { within, LATE } from '../tasks/signal.js';
import type { CallersTransaction } from '../transactions/transactions.js';
import { CallsInOrder, type Turn } from '../transactions/calls-in-order.js';
import type { OutsideTransactions } from '../transactions/outside-transactions.js';
import { Coalescer, ownError, PendingCall } from './coalescer.js';

/** Share of its time limit that a call may wait for its key. The answer needs the rest. */
const QUEUE_SHARE = 2 / 3;

/**
 * Writes outside of callers' transactions. Calls share statements; each gets its own result.
 *
 * Calls about one name and key queue up: two of them never share a statement, each sees what the one
 * before wrote, and they take effect in call order. Calls about other keys do not wait.
 */
export class CoalescedWrites {
  readonly #turns = new CallsInOrder();
  /** In the order in which they were made. */
  readonly #open = new Set<PendingCall<unknown, Placed>>();
  readonly #scheduling: Coalescer<NewDelay, Placed>;
  readonly #schedulingKeyless: Coalescer<NewDelay, Placed>;
  readonly #cancelling: Coalescer<NameAndKey, Placed>;
  readonly #moving: Coalescer<Move, Placed>;
  /** One timer for all calls: the first open call is the oldest. */
  #expiry: NodeJS.Timeout | undefined;
  #giveUpAtMs: number | undefined;
  #isClosed = false;

  /** @param outside runs each statement as its own transaction: `writes` those that wait for a lock */
  constructor(
    private readonly store: DelayStore,
    private readonly outside: Pick<OutsideTransactions, 'writes' | 'together' | 'limitMs'>,
    private readonly options: Pick<ResolvedOptions, 'drainTimeoutMs' | 'installation'>,
  ) {
    const { writes, together: shared } = outside;
    const scheduling = {
      alone: async (delay: NewDelay) => (await store.place(writes, [delay]))[0] as Placed,
      lengthOf: ({ payload }: NewDelay) => payload.length,
    };
    this.#scheduling = new Coalescer({
      ...scheduling,
      together: (delays, answer) => this.#scheduleTogether(delays, answer),
    });
    this.#schedulingKeyless = new Coalescer({
      ...scheduling,
      together: (delays, answer) => store.placeKeylessTogether(shared, delays, answer),
    });
    this.#cancelling = new Coalescer({
      together: (targets, answer) => store.cancelTogether(shared, targets, answer),
      alone: (target) => store.cancel(writes, target),
    });
    this.#moving = new Coalescer({
      together: (moves, answer) => store.rescheduleTogether(shared, moves, answer),
      alone: (move) => store.reschedule(writes, move),
    });
  }

  schedule(delay: NewDelay, ready: Promise<void> | undefined): Promise<Placed> {
    const coalescer = delay.key === null ? this.#schedulingKeyless : this.#scheduling;
    if (ready === undefined) return this.#run(coalescer, delay);
    return this.inOrder([delay], async () => {
      await ready;
      return await this.#run(coalescer, delay, FREE);
    });
  }

  /** Answers `cancelled`, `running` or `absent`. */
  cancel(target: NameAndKey): Promise<Placed> {
    return this.#run(this.#cancelling, target);
  }

  /** Answers `rescheduled`, `running` or `absent`. */
  reschedule(move: Move): Promise<Placed> {
    return this.#run(this.#moving, move);
  }

  /**
   * Runs a call that shares no statement. One with a filter neither waits nor is waited for: it
   * takes page after page.
   * @throws DelayUnavailableError, DelayShutdownError, when its turn comes too late
   */
  readonly inOrder: CallersTransaction['inOrder'] = async (targets, call) => {
    if (targets === 'all') return await call();
    const { before, leave } = this.#turns.enter(targets);
    const waitMs = this.#limitMs * QUEUE_SHARE;
    try {
      if (before !== undefined) {
        if ((await within(before, waitMs)) === LATE) throw tooLate(waitMs);
        if (this.#isClosed) throw new DelayShutdownError();
      }
      return await call();
    } finally {
      leave();
    }
  };

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Drains the calls made so far and refuses later ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.drain();
    clearTimeout(this.#expiry);
  }

  /**
   * Resolves when all calls made so far are answered. `drainTimeoutMs` after the first drain, open
   * calls are rejected, and may have happened: a pool that has ended never answers a caller that
   * waits for a connection.
   */
  async drain(): Promise<void> {
    this.#giveUpAtMs ??= performance.now() + this.options.drainTimeoutMs;
    const calls = [...this.#open];
    if (calls.length === 0) return;
    const answered = Promise.allSettled(calls.map(({ answer }) => answer));
    await within(answered, Math.max(0, this.#giveUpAtMs - performance.now()));
    for (const pending of calls) pending.reject(new DelayShutdownError());
  }

  /** Awaits once per call: each `await` costs a promise, and many callers wait at the same time. */
  async #run<Call extends Pick<NewDelay, 'name' | 'key'>>(
    coalescer: Coalescer<Call, Placed>,
    call: Call,
    { before, leave }: Turn = call.key === null ? FREE : this.#turns.enter([call]),
  ): Promise<Placed> {
    const pending: PendingCall<Call, Placed> = new PendingCall(call, () => {
      this.#open.delete(pending);
      leave();
    });
    this.#open.add(pending);
    if (this.#expiry === undefined) this.#expireNext();
    if (before === undefined) coalescer.add(pending);
    else {
      void before.then(() => {
        const waitedMs = performance.now() - pending.madeAtMs;
        if (waitedMs > this.#limitMs * QUEUE_SHARE) pending.reject(tooLate(waitedMs));
        else if (!pending.isAnswered) coalescer.add(pending);
      });
    }
    let placed: Placed;
    try {
      placed = await pending.answer;
    } catch (error) {
      throw explainError(ownError(error), this.options.installation.schema);
    }
    const refusal = takenKeyError(placed, call);
    if (refusal !== undefined) throw refusal;
    return placed;
  }

  get #limitMs(): number {
    return this.outside.limitMs;
  }

  /** Sets the timer for the oldest call. The timer does not keep the process alive. */
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
      if (!pending.isSent) pending.reject(tooLate(limitMs));
      else {
        const why = new Error(`the server did not answer within ${limitMs} ms`);
        pending.reject(new DelayOutcomeUnknownError(why));
      }
    }
    this.#expireNext();
  }

  /** Writes in lock order, like every caller. */
  async #scheduleTogether(delays: readonly NewDelay[], answer: BatchAnswer): Promise<void> {
    const { sorted, indexes } = inLockOrder(delays);
    await this.store.placeTogether(this.outside.together, sorted, (position, placed) =>
      answer(indexes[position] as number, placed),
    );
  }
}

/** A turn with no call before it and none that waits for it. */
const FREE: Turn = { before: undefined, leave: () => {} };

const tooLate = (afterMs: number): DelayUnavailableError =>
  new DelayUnavailableError(
    `earlier calls, for this key or for others, took longer than ${Math.round(afterMs)} ms`,
  );
