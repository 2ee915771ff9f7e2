import { AsyncResource } from 'node:async_hooks';
import type { PendingCall } from './pending-call.js';
import { metSomebody, isRefusal } from '../../database/driver-errors.js';

/** Calls of one statement. */
const CALLS_MAX = 200;

/** Of all payloads of one statement together, in UTF-16 units; one call alone may have more. */
const LENGTH_MAX = 1_048_576;

/** Statements on their way at a time; those of calls that wait for somebody, alone, come on top. */
const STATEMENTS_MAX = 2;

/**
 * A statement that has taken so long may have a connection that died silently. It is still waited for,
 * in nobody's way: others go on over another connection.
 */
const GIVES_UP_PLACE_MS = 2_000;

/** What a coalescer needs from outside. */
export interface CoalescerParts<Call, Answer> {
  /**
   * Does calls in one go, without waiting for anybody's lock, and tells the answers as it has them,
   * by index. Whom it tells nothing has to wait, alone. A rejection is about those not told yet.
   */
  together: (
    calls: readonly Call[],
    answer: (index: number, answer: Answer) => void,
  ) => Promise<void>;
  /** Does one call, and waits for whomever it has to. */
  alone: (call: Call) => Promise<Answer>;
  /** What the call adds to `LENGTH_MAX`. */
  lengthOf: (call: Call) => number;
}

/**
 * Lets calls of one turn of the event loop travel in one statement. A few statements may be on their
 * way, and what gathers meanwhile makes the next ones: alone a call waits for nothing, under load
 * the batches grow by themselves. Each call has its own answer or its own error, and none is done
 * again of which it is not known whether it happened.
 */
export class Coalescer<Call, Answer> {
  #gathered: PendingCall<Call, Answer>[] = [];
  #statements = 0;
  #isSending = false;
  /** A statement is nobody's in particular: it does not run in the context of its first caller. */
  readonly #send = AsyncResource.bind(() => this.#sendGathered());

  constructor(private readonly parts: CoalescerParts<Call, Answer>) {}

  add(pending: PendingCall<Call, Answer>): void {
    this.#gathered.push(pending);
    this.#sendSoon();
  }

  #sendSoon(): void {
    if (this.#isSending || this.#statements === STATEMENTS_MAX) return;
    this.#isSending = true;
    // All that is called in this turn of the event loop travels together.
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

  /** Never rejects: each of its calls is told instead. */
  async #together(all: readonly PendingCall<Call, Answer>[]): Promise<void> {
    const batch = open(all);
    if (batch.length === 0) return;
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

  /** In halves: whoever is the cause ends up alone, after few statements, and the others are done. */
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

/** Without those that were answered, or given up. */
const open = <Pending extends { isAnswered: boolean }>(all: readonly Pending[]): Pending[] =>
  all.filter(({ isAnswered }) => !isAnswered);
