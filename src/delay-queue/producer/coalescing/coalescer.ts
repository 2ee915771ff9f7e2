import { AsyncResource } from 'node:async_hooks';
import type { PendingCall } from './pending-call.js';
import { metSomebody, isRefusal } from '../../database/driver-errors.js';

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
export interface CoalescerParts<Call, Answer> {
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
