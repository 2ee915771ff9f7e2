import { printable, quoted } from './printable.js';
import type { Duration } from './times.js';

/**
 * Every error of the library, each with a stable `code`. `docs/api.md` has the table, which is written from what stands
 * above each class.
 */
export abstract class DelayError extends Error {
  abstract readonly code: string;

  /** Whether its messages have lines, which no text of a caller's has made. */
  protected static readonly hasLines: boolean = false;

  constructor(message = '', options?: ErrorOptions) {
    const lines = new.target.hasLines ? message.split('\n') : [message];
    super(lines.map((line) => printable(line)).join('\n'), options);
  }

  override get name(): string {
    return this.constructor.name;
  }
}

/**
 * Options, handlers or the database are not usable; at start, or by a call, where the database has changed since. The
 * message says which, and what to do.
 */
export class DelayConfigError extends DelayError {
  readonly code = 'DELAY_CONFIG';
}

/** An argument is refused, with `field` and `why`; nothing was stored. */
export class DelayInvalidError extends DelayError {
  readonly code = 'DELAY_INVALID';

  /**
   * @param field which argument, as a path: `payload.items[3].price`, `key`, `after`
   * @param why what is wrong with it and what would be right
   */
  constructor(
    readonly field: string,
    readonly why: string,
  ) {
    super(`${field}: ${why}`);
  }
}

/** `onConflict: 'error'` met a delay of that key that waits; nothing was stored. */
export class DelayConflictError extends DelayError {
  readonly code = 'DELAY_CONFLICT';

  constructor(
    readonly delayName: string,
    readonly key: string,
  ) {
    super(`a delay ${delayName} with the key ${quoted(key)} waits already`);
  }
}

/**
 * Others held or changed the row of that key for 10 s; nothing was written, try again.
 *
 * Two transactions that wait for each other hear it, too: roll one of them back.
 */
export class DelayUnstableError extends DelayError {
  readonly code = 'DELAY_UNSTABLE';

  constructor(readonly heldMs: number) {
    super(
      `others held or changed the row of that key for ${heldMs} ms, or two transactions wait for each other; ` +
        'nothing was written by this call: try again, in a transaction after rolling it back',
    );
  }
}

/** A transaction could not be committed, since an error in it was swallowed: nothing of it was written. */
export class DelayRolledBackError extends DelayError {
  readonly code = 'DELAY_ROLLED_BACK';

  constructor() {
    super(
      'the transaction was rolled back, and nothing of it was written: a statement in it had failed, and its error was swallowed',
    );
  }
}

/**
 * A statement of a handler came after the end of its attempt; it was not sent.
 *
 * It came through the manager of a transactional handler after that had returned, thrown or been cut. Outside of its
 * transaction it would not be undone with it.
 */
export class DelayTransactionOverError extends DelayError {
  readonly code = 'DELAY_TRANSACTION_OVER';

  constructor() {
    super(
      'the attempt is decided and its transaction over: await everything before the handler returns',
    );
  }
}

/** In `trouble`: the transaction of an attempt did not begin in time; it was given back, its handler not called. */
export class DelayUnbegunError extends DelayError {
  readonly code = 'DELAY_UNBEGUN';

  constructor(readonly withinMs: number) {
    super(
      `the pool gave no connection, or Postgres no answer, within ${withinMs} ms; the attempt was given back ` +
        `(a larger pool, extra.max, or a lower concurrency)`,
    );
  }
}

/** Reason of `ctx.signal`: the attempt outlived the handler's `timeout`. */
export class DelayTimeoutError extends DelayError {
  readonly code = 'DELAY_TIMEOUT';

  constructor(readonly timeoutMs: number) {
    super(`the handler did not end within ${timeoutMs} ms`);
  }
}

/** Reason of `ctx.signal`: the lease is gone, and what this attempt returns will be ignored; another node may run the delay now. */
export class DelayLeaseLostError extends DelayError {
  readonly code = 'DELAY_LEASE_LOST';

  constructor() {
    super('the lease of this attempt is lost; its result will be ignored');
  }
}

/** Reason of `ctx.signal`: this delay was cancelled with `running: 'abort'`. The attempt is to end, and costs nothing. */
export class DelayAbortedError extends DelayError {
  readonly code = 'DELAY_ABORTED';

  constructor() {
    super("a cancel with running: 'abort' asks this attempt to end");
  }
}

/** `WheelService.after` while as many volatile timers wait as may; nothing was added. */
export class DelayWheelFullError extends DelayError {
  readonly code = 'DELAY_WHEEL_FULL';

  constructor(readonly capacity: number) {
    super(
      `${capacity} volatile timers wait, more are not allowed; cancel some, try later, or provide ` +
        'another WHEEL_CAPACITY',
    );
  }
}

/**
 * The application is closing: reason of `ctx.signal`; from the wheel; of a write not answered by then.
 *
 * The delay of a handler will run again without losing an attempt; whether a write without an answer happened is
 * unknown.
 */
export class DelayShutdownError extends DelayError {
  readonly code = 'DELAY_SHUTDOWN';

  constructor() {
    super('the application is shutting down');
  }
}

/**
 * A call without a `manager` had no connection, or a read no answer, in time; nothing was written: try again.
 *
 * If it comes often, give the pool more connections (`extra.max`).
 */
export class DelayUnavailableError extends DelayError {
  readonly code = 'DELAY_UNAVAILABLE';

  constructor(why: string, cause?: unknown) {
    super(`${why}; nothing was written, try again`, cause === undefined ? {} : { cause });
  }
}

/**
 * A write without a `manager` was sent, and the connection died before the answer: look with `find`, or call again
 * with the same `key`; `cause` is the driver's error.
 *
 * It happened or it did not. Without a key the same call again may schedule a second delay.
 */
export class DelayOutcomeUnknownError extends DelayError {
  readonly code = 'DELAY_OUTCOME_UNKNOWN';

  constructor(cause: unknown) {
    super(
      'the connection was lost before the answer came, so the write may or may not have happened: ' +
        'look with find(), or make the same call again with the same key',
      { cause },
    );
  }
}

/** What does not fit into a schema. */
export interface PayloadIssue {
  /** `payload.items[0].price` */
  readonly path: string;
  /** In the words of the schema. */
  readonly message: string;
}

/**
 * `cause` of `unreadable`, `retrying` and `dead` events: the stored payload does not fit into the schema of its name;
 * `issues` say where.
 *
 * Its handler was not called.
 */
export class DelayPayloadError extends DelayError {
  readonly code = 'DELAY_PAYLOAD';

  /** @param issues the first 20 */
  constructor(readonly issues: readonly PayloadIssue[]) {
    super(issues.map(({ path, message }) => `${path}: ${message}`).join('; '));
  }
}

/** The codec failed, or a payload is encoded and there is none; `schedule` has written nothing. `cause` is what it threw. */
export class DelayCodecError extends DelayError {
  readonly code = 'DELAY_CODEC';

  constructor(why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause });
  }
}

/** What a thrown value says; by a mark and not by its class, which is another in another copy of this package. */
const MEANING = Symbol.for('nestjs-delay-queue:meaning');

/**
 * Thrown by a handler: no further attempts, the delay becomes a dead letter now.
 *
 * ```ts
 * throw new DiscardDelay('the order does not exist');
 * ```
 */
export class DiscardDelay extends Error {
  override readonly name = 'DiscardDelay';
  /** @internal */
  readonly [MEANING] = 'discard';

  constructor(readonly reason: string) {
    super(reason);
  }
}

/**
 * Thrown by a handler: run again later, without spending an attempt. Later is in 100 ms at least.
 *
 * ```ts
 * throw new PostponeDelay('10m');
 * ```
 */
export class PostponeDelay extends Error {
  override readonly name = 'PostponeDelay';
  /** @internal */
  readonly [MEANING] = 'postpone';

  /** @param after how long from now, like `schedule`'s `after`; less than 100 ms counts as 100 ms */
  constructor(readonly after: Duration) {
    super(`postponed by ${String(after)}`);
  }
}

/** @throws what a proxy throws that is asked */
export const meansDiscard = (error: unknown): error is DiscardDelay =>
  meaningOf(error) === 'discard';

/** @throws what a proxy throws that is asked */
export const meansPostpone = (error: unknown): error is PostponeDelay =>
  meaningOf(error) === 'postpone';

/** It says what becomes of the delay, and no more: nothing went wrong. */
export function isVerdict(thrown: unknown): boolean {
  try {
    return meaningOf(thrown) !== undefined;
  } catch {
    return false;
  }
}

const meaningOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, MEANING) : undefined;

/** A guard answered that the handler may not be called; its attempt has failed. */
export class DelayGuardError extends DelayError {
  readonly code = 'DELAY_GUARD';
}

/** Interceptors did not call the handler, or called it twice or too late; its attempt has failed. */
export class DelayInterceptorError extends DelayError {
  readonly code = 'DELAY_INTERCEPTOR';
}

/** An `around` did not call `next()`, called it twice or too late; its attempt has failed. */
export class DelayAroundError extends DelayError {
  readonly code = 'DELAY_AROUND';
}
