import { printable, quoted } from './error-text.js';
import type { Duration } from './delay.js';

/** Base of the library's errors. Docstrings of its subclasses become a table in `docs/api.md`. */
export abstract class DelayError extends Error {
  abstract readonly code: string;

  /** Whether the message has several lines. No line may come from a caller's text. */
  protected static readonly hasLines: boolean = false;

  constructor(message = '', { cause }: { cause?: unknown } = {}) {
    const lines = new.target.hasLines ? message.split('\n') : [message];
    super(lines.map((line) => printable(line)).join('\n'), cause === undefined ? {} : { cause });
  }

  /** As this package exports it: minifiers change the names of classes. `DELAY_CODEC`: `DelayCodecError`. */
  override get name(): string {
    const words = this.code.toLowerCase();
    return `${words.replace(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase())}Error`;
  }
}

/**
 * Invalid options, handlers or database: at start, or in a call after the database has changed. The
 * message says which, and what to do.
 */
export class DelayConfigError extends DelayError {
  readonly code = 'DELAY_CONFIG';
}

/** An argument is refused, with `field` and `why`. Nothing was stored. */
export class DelayInvalidError extends DelayError {
  readonly code = 'DELAY_INVALID';

  /**
   * @param field path of the argument: `payload.items[3].price`, `key`, `after`
   * @param why what is wrong, and what would be right
   */
  constructor(
    readonly field: string,
    readonly why: string,
  ) {
    super(`${field}: ${why}`);
  }
}

/** `onConflict: 'error'` found a waiting delay of that key. Nothing was stored. */
export class DelayConflictError extends DelayError {
  readonly code = 'DELAY_CONFLICT';

  constructor(
    readonly delayName: string,
    readonly key: string,
  ) {
    super(`a delay ${delayName} with the key ${quoted(key)} is already waiting`);
  }
}

/**
 * Other transactions held or changed the row of that key for 10 s. Nothing was written; try again.
 *
 * Also if two transactions wait for each other: roll one of them back.
 */
export class DelayUnstableError extends DelayError {
  readonly code = 'DELAY_UNSTABLE';

  constructor(readonly heldMs: number) {
    super(
      `other transactions held or changed the row of that key for ${heldMs} ms, or two transactions wait for each other; ` +
        'this call wrote nothing: try again, in a transaction after rolling it back',
    );
  }
}

/** A transaction could not commit, because an error in it was swallowed. Nothing was written. */
export class DelayRolledBackError extends DelayError {
  readonly code = 'DELAY_ROLLED_BACK';

  constructor() {
    super(
      'the transaction was rolled back, and nothing of it was written: a statement in it had failed, and its error was swallowed',
    );
  }
}

/**
 * A handler sent a statement after its attempt had ended. It was not executed.
 *
 * It used the manager of a transactional handler that had returned, thrown or been cut off: outside
 * its transaction, the statement could not be rolled back.
 */
export class DelayTransactionOverError extends DelayError {
  readonly code = 'DELAY_TRANSACTION_OVER';

  constructor() {
    super(
      'the attempt and its transaction have ended: await everything before the handler returns',
    );
  }
}

/**
 * In `taskFailed`: no session was ready for an attempt in time. The attempt was given back, and its
 * handler was not called.
 */
export class DelayUnbegunError extends DelayError {
  readonly code = 'DELAY_UNBEGUN';

  constructor(readonly withinMs: number) {
    super(
      `no session could be opened, or Postgres gave no answer, within ${withinMs} ms; the attempt was given back ` +
        `(does the server have connections left? lower transactionalConnections, or raise max_connections)`,
    );
  }
}

/**
 * Reason of `ctx.signal`: the attempt exceeded the handler's `timeout`. The message names the locks
 * that it waited for.
 */
export class DelayTimeoutError extends DelayError {
  readonly code = 'DELAY_TIMEOUT';

  constructor(
    readonly timeoutMs: number,
    locks: readonly string[] = [],
  ) {
    super([`the handler did not end within ${timeoutMs} ms`, ...locks].join('; '));
  }
}

/**
 * Reason of `ctx.signal`: the lease is lost. The result is ignored; another node may run it now.
 */
export class DelayLeaseLostError extends DelayError {
  readonly code = 'DELAY_LEASE_LOST';

  constructor() {
    super('the lease of this attempt is lost; its result will be ignored');
  }
}

/** Reason of `ctx.signal`: a cancel with `running: 'abort'`. No attempt is spent. */
export class DelayAbortedError extends DelayError {
  readonly code = 'DELAY_ABORTED';

  constructor() {
    super("a cancel with running: 'abort' asks this attempt to end");
  }
}

/** `WheelService.after` found as many volatile timers waiting as are allowed. Nothing was added. */
export class DelayWheelFullError extends DelayError {
  readonly code = 'DELAY_WHEEL_FULL';

  constructor(readonly capacity: number) {
    super(
      `${capacity} volatile timers are waiting, and no more are allowed; cancel some, try later, or provide ` +
        'another WHEEL_CAPACITY',
    );
  }
}

/**
 * The application is closing. Reason of `ctx.signal`; thrown by the wheel, and by a write without
 * an answer.
 *
 * A running delay runs again, and no attempt is spent. A write without an answer may have taken
 * effect.
 */
export class DelayShutdownError extends DelayError {
  readonly code = 'DELAY_SHUTDOWN';

  constructor() {
    super('the application is shutting down');
  }
}

/**
 * A call without a `manager` got no connection, or a read no answer, in time. Nothing was written;
 * try again.
 *
 * If this is frequent, enlarge the pool (`extra.max`). In `taskFailed`, as `begin`: no session for a
 * transactional handler could be opened. Its attempt was given back.
 */
export class DelayUnavailableError extends DelayError {
  readonly code = 'DELAY_UNAVAILABLE';

  constructor(why: string, cause?: unknown) {
    super(`${why}; nothing was written, try again`, { cause });
  }
}

/**
 * A write without a `manager` lost its connection before the answer. Check with `find`, or repeat
 * the call with the same `key`. `cause` is the driver's error.
 *
 * The write may have taken effect. Without a key, repeating it may schedule a second delay.
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

/** One mismatch between a payload and its schema. */
export interface PayloadIssue {
  /** Like `payload.items[0].price`. */
  readonly path: string;
  /** The schema's message. */
  readonly message: string;
}

/**
 * `cause` of `unreadable`, `retrying` and `dead` events: the stored payload does not match its
 * schema; see `issues`.
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

/**
 * The codec failed, or a payload is encoded and this node has no codec. A `schedule` that throws it
 * wrote nothing. `cause` is the codec's error.
 */
export class DelayCodecError extends DelayError {
  readonly code = 'DELAY_CODEC';

  constructor(why: string, cause?: unknown) {
    super(why, { cause });
  }
}

/** What a thrown value means. Not its class: another copy of this package has another class. */
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
 * Thrown by a handler: run again later without spending an attempt, in 100 ms at the earliest.
 *
 * ```ts
 * throw new PostponeDelay('10m');
 * ```
 */
export class PostponeDelay extends Error {
  override readonly name = 'PostponeDelay';
  /** @internal */
  readonly [MEANING] = 'postpone';

  /** @param after how long from now, like the `after` of `schedule`; at least 100 ms */
  constructor(readonly after: Duration) {
    super(`postponed by ${String(after)}`);
  }
}

/** @throws what a proxy throws when it is read */
export const meansDiscard = (error: unknown): error is DiscardDelay =>
  readMeaning(error) === 'discard';

/** @throws what a proxy throws when it is read */
export const meansPostpone = (error: unknown): error is PostponeDelay =>
  readMeaning(error) === 'postpone';

/** Whether the thrown value only decides what happens to the delay: no failure to report. */
export function isVerdict(thrown: unknown): boolean {
  try {
    return readMeaning(thrown) !== undefined;
  } catch {
    return false;
  }
}

const readMeaning = (error: unknown): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, MEANING) : undefined;

/** A guard refused the call of the handler. The attempt failed. */
export class DelayGuardError extends DelayError {
  readonly code = 'DELAY_GUARD';
}

/** Interceptors did not call the handler, or called it twice or too late. The attempt failed. */
export class DelayInterceptorError extends DelayError {
  readonly code = 'DELAY_INTERCEPTOR';
}

/** An `around` did not call `next()`, or called it twice or too late. The attempt failed. */
export class DelayAroundError extends DelayError {
  readonly code = 'DELAY_AROUND';
}
