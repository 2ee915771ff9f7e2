import { isRefusedByServer, lockedOrTaken } from '../database/driver-errors.js';
import { inOwnScope } from '../tasks/own-scope.js';

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
  /** How much the call adds to `LENGTH_MAX`; default: nothing. */
  lengthOf?: (call: Call) => number;
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
      length += this.parts.lengthOf?.(call) ?? 0;
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
      if (isRefusedByServer(error)) await this.#refused(batch, error);
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

/** A call that has no answer yet. The first answer or error counts, later ones are ignored. */
export class PendingCall<Call, Answer> {
  readonly answer: Promise<Answer>;
  readonly madeAtMs = performance.now();
  /** Part of a sent statement: from then on the call may have happened. */
  isSent = false;
  isAnswered = false;
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

  resolve(answer: Answer): void {
    if (this.isAnswered) return;
    this.#resolve(answer);
    this.#answered();
  }

  reject(error: unknown): void {
    if (this.isAnswered) return;
    this.#reject(error);
    this.#answered();
  }

  #answered(): void {
    this.isAnswered = true;
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
