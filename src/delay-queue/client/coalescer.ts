import { AsyncResource } from 'node:async_hooks';
import {
  DelayOutcomeUnknownError,
  DelayShutdownError,
  DelayUnavailableError,
} from '../api/errors.js';
import { explained, isRefusal, metSomebody } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import type { BatchAnswer, BatchStore, Move, NameAndKey } from '../store/batch.store.js';
import type { DelayStore } from '../store/delay.store.js';
import { inLockOrder, keyText, type NewDelay, type Placed } from '../store/rows/delay-rows.js';
import { refusalOf } from '../store/write-answers.js';
import { within } from '../tasks/signal.js';

/** A call that has no answer yet. The first answer or error counts, later ones are ignored. */
export class PendingCall<Call, Answer> {
  readonly answer: Promise<Answer>;
  readonly madeAtMs = performance.now();
  /** It is in a statement: from then on it may have happened. */
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
 * A copy, for one call, of the error of a statement that many calls shared: the caller may change it, and its
 * stack leads to that caller. Class, message and fields are the same.
 *
 * To be called right after the call's own `await`: only there V8 knows which code awaits the call.
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

/** Calls of one statement. */
const CALLS_MAX = 200;

/** Of all payloads of one statement together, in UTF-16 units; one call alone may have more. */
const LENGTH_MAX = 1_048_576;

/** Statements on their way at a time. Statements of single calls that wait for a lock do not count. */
const STATEMENTS_MAX = 2;

/**
 * The connection of a statement that takes longer than this may have died silently. The statement is still
 * waited for, but holds no place any more: other statements go on over other connections.
 */
const GIVES_UP_PLACE_MS = 2_000;

/** What a coalescer needs from outside. */
interface CoalescerParts<Call, Answer> {
  /**
   * Does calls in one statement, without waiting for a lock, and tells each answer by the index of its call.
   * A call that it tells no answer is done alone, and waits there. A rejection is about the calls that were
   * told no answer yet.
   */
  together: (
    calls: readonly Call[],
    answer: (index: number, answer: Answer) => void,
  ) => Promise<void>;
  /** Does one call, and waits for locks. */
  alone: (call: Call) => Promise<Answer>;
  /** What the call adds to `LENGTH_MAX`. */
  lengthOf: (call: Call) => number;
}

/**
 * Lets calls of one turn of the event loop travel in one statement. While a few statements are on their way,
 * new calls gather for the next ones: a single call waits for nothing, and under load the batches grow by
 * themselves. Each call has its own answer or its own error. A call that may have happened is not done again.
 */
export class Coalescer<Call, Answer> {
  #gathered: PendingCall<Call, Answer>[] = [];
  #statements = 0;
  #isSending = false;
  /** Many callers share a statement: it does not run in the async context of the first of them. */
  readonly #send = AsyncResource.bind(() => this.#sendGathered());

  constructor(private readonly parts: CoalescerParts<Call, Answer>) {}

  add(pending: PendingCall<Call, Answer>): void {
    this.#gathered.push(pending);
    this.#sendSoon();
  }

  #sendSoon(): void {
    if (this.#isSending || this.#statements === STATEMENTS_MAX) return;
    this.#isSending = true;
    // All calls of this turn of the event loop travel together.
    setImmediate(this.#send);
  }

  #sendGathered(): void {
    this.#isSending = false;
    while (this.#gathered.length > 0 && this.#statements < STATEMENTS_MAX) {
      void this.#inPlace(this.#together(this.#take()));
    }
  }

  /** Holds a place for a statement until it ends or has taken too long. */
  async #inPlace(statement: Promise<void>): Promise<void> {
    let hasPlace = true;
    const leave = (): void => {
      if (!hasPlace) return;
      hasPlace = false;
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

  /** Never rejects: each call of the statement gets the error instead. */
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

  /** Tries again in halves: after a few statements the call that causes the error is alone, and the others are done. */
  async #refused(batch: readonly PendingCall<Call, Answer>[], error: unknown): Promise<void> {
    const [first] = batch;
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2);
      await this.#together(batch.slice(0, middle));
      await this.#together(batch.slice(middle));
    } else if (metSomebody(error)) void this.#alone(first!);
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

/** The calls that have neither an answer nor an error. */
const open = <Pending extends { isAnswered: boolean }>(all: readonly Pending[]): Pending[] =>
  all.filter(({ isAnswered }) => !isAnswered);

/**
 * Calls about the same name and key wait in a queue: each begins when the one before it is answered. So
 * two of them are never in one statement, each sees what the one before it wrote, and they take effect
 * in the order in which they were made. Calls about other keys do not wait for them.
 */
export class KeyQueues {
  /** By key, the calls that wait behind the call that has begun. A key without any call has no entry. */
  readonly #behind = new Map<string, (() => void)[] | undefined>();

  /** Whether the call may begin now, because no other call is before it. If so, the call has to leave when it ends. */
  enter(key: string): boolean {
    if (this.#behind.has(key)) return false;
    this.#behind.set(key, undefined);
    return true;
  }

  /** Puts a call into the queue; it begins when all calls before it have left. */
  wait(key: string, begin: () => void): void {
    const behind = this.#behind.get(key);
    if (behind === undefined) this.#behind.set(key, [begin]);
    else behind.push(begin);
  }

  leave(key: string): void {
    const next = this.#behind.get(key)?.shift();
    if (next === undefined) this.#behind.delete(key);
    else next();
  }
}

/** Of a call's limit: one that has waited so long in the queue of its key is not sent any more, for its answer needs the rest. */
const QUEUE_SHARE = 2 / 3;

/** What coalesced writes are made with. */
interface CoalescedWritesParts {
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
  async #scheduleTogether(delays: readonly NewDelay[], answer: BatchAnswer): Promise<void> {
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
