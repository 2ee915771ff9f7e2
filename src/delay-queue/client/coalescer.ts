import {
  DelayOutcomeUnknownError,
  DelayShutdownError,
  DelayUnavailableError,
} from '../api/errors.js';
import { explained, isRefusal, lockedOrTaken } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import type { BatchAnswer, DelayStore } from '../store/delay.store.js';
import {
  inLockOrder,
  type Move,
  type NameAndKey,
  type NewDelay,
  type Placed,
} from '../store/rows/delay-rows.js';
import { refusalOf } from '../store/write-answers.js';
import { inOwnScope } from '../tasks/own-scope.js';
import { LATE, within } from '../tasks/signal.js';
import {
  type CallersTransaction,
  CallsInOrder,
  type Turn,
} from '../transactions/callers-transaction.js';

/** A call that has no answer yet. The first answer or error counts, later ones are ignored. */
export class PendingCall<Call, Answer> {
  readonly answer: Promise<Answer>;
  readonly madeAtMs = performance.now();
  /** Part of a sent statement: from then on the call may have happened. */
  isSent = false;
  #isAnswered = false;
  #resolve!: (answer: Answer) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly call: Call,
    private readonly onAnswered: () => void,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  resolve(answer: Answer): void {
    if (this.#isAnswered) return;
    this.#resolve(answer);
    this.#answered();
  }

  reject(error: unknown): void {
    if (this.#isAnswered) return;
    this.#reject(error);
    this.#answered();
  }

  #answered(): void {
    this.#isAnswered = true;
    this.onAnswered();
  }
}

/**
 * Copies the error of a shared statement for one of its calls. The caller may change the copy, and
 * its stack leads to that caller. Class, message and fields are the same.
 *
 * Call it right after the call's own `await`: only there V8 knows which code awaits the call.
 */
export function ownError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const own = new Error(error.message);
  Error.captureStackTrace(own, ownError);
  const frames = own.stack?.slice(String(own).length) ?? '';
  Object.setPrototypeOf(own, Object.getPrototypeOf(error) as object);
  for (const [field, property] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
    if (field !== 'stack') Object.defineProperty(own, field, property);
  }
  own.stack = `${String(own)}${frames}`;
  return own;
}

/** Most calls in one statement. */
const CALLS_MAX = 200;

/** Most payload in one statement, in UTF-16 units. A single call may exceed it. */
const LENGTH_MAX = 1_048_576;

/** Most statements in flight. Statements of single calls that wait for a lock do not count. */
const STATEMENTS_MAX = 2;

/** A slower statement's connection may be dead: it gives up its slot, but is still awaited. */
const GIVES_UP_PLACE_MS = 2_000;

interface CoalescerParts<Call, Answer> {
  /**
   * Runs calls in one statement that waits for no lock; reports each answer by the call's index. A
   * call without an answer then runs alone, and waits. A rejection concerns only unanswered calls.
   */
  together: (
    calls: readonly Call[],
    answer: (index: number, answer: Answer) => void,
  ) => Promise<void>;
  /** Runs one call and waits for locks. */
  alone: (call: Call) => Promise<Answer>;
  /** How much the call adds to `LENGTH_MAX`. */
  lengthOf: (call: Call) => number;
}

/**
 * Combines the calls of one turn of the event loop into one statement. Under load, while
 * `STATEMENTS_MAX` statements are in flight, calls gather and batches grow. Each call has its own
 * answer or error. A call that may have happened is not repeated.
 */
export class Coalescer<Call, Answer> {
  #gathered: PendingCall<Call, Answer>[] = [];
  #statements = 0;
  #isSending = false;
  /** A shared statement must not run in the async context of its first caller. */
  readonly #send = (): void => inOwnScope(() => this.#sendGathered());

  constructor(private readonly parts: CoalescerParts<Call, Answer>) {}

  add(pending: PendingCall<Call, Answer>): void {
    this.#gathered.push(pending);
    this.#sendSoon();
  }

  #sendSoon(): void {
    if (this.#isSending || this.#statements === STATEMENTS_MAX) return;
    this.#isSending = true;
    setImmediate(this.#send);
  }

  #sendGathered(): void {
    this.#isSending = false;
    while (this.#gathered.length > 0 && this.#statements < STATEMENTS_MAX) {
      void this.#inPlace(this.#together(this.#take()));
    }
  }

  /** Holds a slot until the statement ends or takes too long. */
  async #inPlace(statement: Promise<void>): Promise<void> {
    let hasSlot = true;
    const leave = (): void => {
      if (!hasSlot) return;
      hasSlot = false;
      this.#statements -= 1;
      if (this.#gathered.length > 0) this.#sendSoon();
    };
    this.#statements += 1;
    const timer = setTimeout(leave, GIVES_UP_PLACE_MS);
    await statement;
    clearTimeout(timer);
    leave();
  }

  #take(): PendingCall<Call, Answer>[] {
    let count = 0;
    let length = 0;
    for (const { call } of this.#gathered) {
      length += this.parts.lengthOf(call);
      if (count === CALLS_MAX || (count > 0 && length > LENGTH_MAX)) break;
      count += 1;
    }
    return this.#gathered.splice(0, count);
  }

  /** Never rejects: the calls of the statement get the error. */
  async #together(all: readonly PendingCall<Call, Answer>[]): Promise<void> {
    const batch = open(all);
    if (batch.length === 0) return;
    for (const pending of batch) pending.isSent = true;
    try {
      await this.parts.together(
        batch.map(({ call }) => call),
        (index, answer) => batch[index]?.resolve(answer),
      );
      for (const pending of open(batch)) void this.#alone(pending);
    } catch (error) {
      if (isRefusal(error)) await this.#refused(batch, error);
      else for (const pending of batch) pending.reject(error);
    }
  }

  /** Tries again in halves, until the call that causes the error is alone. */
  async #refused(batch: readonly PendingCall<Call, Answer>[], error: unknown): Promise<void> {
    const [first] = batch;
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2);
      await this.#together(batch.slice(0, middle));
      await this.#together(batch.slice(middle));
    } else if (lockedOrTaken(error)) void this.#alone(first!);
    else first?.reject(error);
  }

  async #alone(pending: PendingCall<Call, Answer>): Promise<void> {
    try {
      pending.resolve(await this.parts.alone(pending.call));
    } catch (error) {
      pending.reject(error);
    }
  }
}

const open = <Pending extends { isAnswered: boolean }>(all: readonly Pending[]): Pending[] =>
  all.filter(({ isAnswered }) => !isAnswered);

/** Share of its time limit that a call may wait for its key. The answer needs the rest. */
const QUEUE_SHARE = 2 / 3;

interface CoalescedWritesParts {
  store: DelayStore;
  /** Each statement is its own transaction; `alone`: of a call that has to wait for a lock. */
  runners: { alone: Runner; together: Runner };
  /** Time limit of a call, from when it is made to its answer. */
  limits: { readonly limitMs: number };
  drainWithinMs: number;
  schema: string;
}

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

  constructor(private readonly parts: CoalescedWritesParts) {
    const { store, runners } = parts;
    const scheduling = {
      alone: async (delay: NewDelay) => (await store.place(runners.alone, [delay]))[0] as Placed,
      lengthOf: ({ payload }: NewDelay) => payload.length,
    };
    this.#scheduling = new Coalescer({
      ...scheduling,
      together: (delays, answer) => this.#scheduleTogether(delays, answer),
    });
    this.#schedulingKeyless = new Coalescer({
      ...scheduling,
      together: (delays, answer) => store.placeKeylessTogether(runners.together, delays, answer),
    });
    this.#cancelling = new Coalescer({
      together: (targets, answer) => store.cancelTogether(runners.together, targets, answer),
      alone: (target) => store.cancel(runners.alone, target),
      lengthOf: () => 0,
    });
    this.#moving = new Coalescer({
      together: (moves, answer) => store.rescheduleTogether(runners.together, moves, answer),
      alone: (move) => store.reschedule(runners.alone, move),
      lengthOf: () => 0,
    });
  }

  /**
   * @param ready resolves when the payload is there
   * @throws DelayConflictError, DelayUnstableError, DelayUnavailableError,
   *   DelayOutcomeUnknownError, DelayShutdownError, and errors of Postgres
   */
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
   * Resolves when all calls made so far are answered. `drainWithinMs` after the first drain, open
   * calls are rejected, and may have happened: a pool that has ended never answers a caller that
   * waits for a connection.
   */
  async drain(): Promise<void> {
    this.#giveUpAtMs ??= performance.now() + this.parts.drainWithinMs;
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
      throw explained(ownError(error), this.parts.schema);
    }
    const refusal = refusalOf(placed, call);
    if (refusal !== undefined) throw refusal;
    return placed;
  }

  get #limitMs(): number {
    return this.parts.limits.limitMs;
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

  /** Writes in lock order, as every caller does. */
  async #scheduleTogether(delays: readonly NewDelay[], answer: BatchAnswer): Promise<void> {
    const { sorted, indexes } = inLockOrder(delays);
    const { store, runners } = this.parts;
    await store.placeTogether(runners.together, sorted, (position, placed) =>
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
