import type { Duration } from './delay.js';

/**
 * Every error of the library, each with a stable `code`.
 *
 * | code | class | when |
 * |---|---|---|
 * | `DELAY_CONFIG` | {@link DelayConfigError} | options, handlers or the database are not usable; at start |
 * | `DELAY_INVALID` | {@link DelayInvalidError} | an argument is not acceptable; nothing was stored |
 * | `DELAY_CONFLICT` | {@link DelayConflictError} | `onConflict: 'error'` met a waiting delay |
 * | `DELAY_UNSTABLE` | {@link DelayUnstableError} | others kept changing that key; try again |
 * | `DELAY_ROLLED_BACK` | {@link DelayRolledBackError} | COMMIT was answered with ROLLBACK; nothing of that transaction was written |
 * | `DELAY_TRANSACTION_OVER` | {@link DelayTransactionOverError} | a statement of a handler came after the end of its attempt |
 * | `DELAY_UNBEGUN` | {@link DelayUnbegunError} | the transaction of an attempt did not begin in time; the attempt was given back |
 * | `DELAY_TIMEOUT` | {@link DelayTimeoutError} | abort reason: the attempt outlived its timeout |
 * | `DELAY_LEASE_LOST` | {@link DelayLeaseLostError} | abort reason: another node may run this delay now |
 * | `DELAY_WHEEL_FULL` | {@link DelayWheelFullError} | too many volatile timers and wakes wait |
 * | `DELAY_SHUTDOWN` | {@link DelayShutdownError} | abort reason: the application is closing; of a write that was not answered by then, too |
 */
export abstract class DelayError extends Error {
  abstract readonly code: string;

  override get name(): string {
    return this.constructor.name;
  }
}

/** The module cannot start like this. The message says which option and why. */
export class DelayConfigError extends DelayError {
  readonly code = 'DELAY_CONFIG';
}

/** An argument was refused before anything was stored. */
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

/** `onConflict: 'error'` and a delay of that key waits already. Nothing was stored. */
export class DelayConflictError extends DelayError {
  readonly code = 'DELAY_CONFLICT';

  constructor(
    readonly delayName: string,
    readonly key: string,
  ) {
    super(`a delay ${delayName} with the key ${JSON.stringify(key)} waits already`);
  }
}

/** A key changed under every look for too long; the caller may try again. */
export class DelayUnstableError extends DelayError {
  readonly code = 'DELAY_UNSTABLE';

  constructor(looks: number) {
    super(`other callers changed the same key during ${looks} looks; try again`);
  }
}

/** COMMIT was answered with ROLLBACK: the transaction had failed, and nothing of it was written. */
export class DelayRolledBackError extends DelayError {
  readonly code = 'DELAY_ROLLED_BACK';

  constructor() {
    super(
      'Postgres answered ROLLBACK to COMMIT: a statement of the transaction had failed, and nothing of it was written',
    );
  }
}

/**
 * A statement came through the manager of a transactional handler after the handler had returned, thrown or
 * been cut. It was not run: its transaction is over, and outside of it, it would not be undone with it.
 */
export class DelayTransactionOverError extends DelayError {
  readonly code = 'DELAY_TRANSACTION_OVER';

  constructor() {
    super(
      'the attempt is decided and its transaction over: await everything before the handler returns',
    );
  }
}

/** In a `trouble` event: the transaction of an attempt did not begin in time, and its handler was not called. */
export class DelayUnbegunError extends DelayError {
  readonly code = 'DELAY_UNBEGUN';

  constructor(readonly withinMs: number) {
    super(
      `the pool gave no connection, or Postgres no answer, within ${withinMs} ms; the attempt was given back ` +
        `(a larger pool, extra.max, or a lower concurrency)`,
    );
  }
}

/** The attempt outlived the handler's `timeout`. */
export class DelayTimeoutError extends DelayError {
  readonly code = 'DELAY_TIMEOUT';

  constructor(readonly timeoutMs: number) {
    super(`the handler did not end within ${timeoutMs} ms`);
  }
}

/** The lease is gone: what this attempt returns will be ignored. */
export class DelayLeaseLostError extends DelayError {
  readonly code = 'DELAY_LEASE_LOST';

  constructor() {
    super('the lease of this attempt is lost; its result will be ignored');
  }
}

/** All wheels together hold as many entries as they may; nothing was added. */
export class DelayWheelFullError extends DelayError {
  readonly code = 'DELAY_WHEEL_FULL';

  constructor(readonly capacity: number) {
    super(`the wheel holds ${capacity} entries, more are not allowed; cancel some or try later`);
  }
}

/**
 * The application is closing. The delay of a handler will run again without losing an attempt; of a
 * write that was not answered by then nobody knows whether it happened.
 */
export class DelayShutdownError extends DelayError {
  readonly code = 'DELAY_SHUTDOWN';

  constructor() {
    super('the application is shutting down');
  }
}

/**
 * Thrown by a handler: no further attempts, the delay becomes a dead letter now.
 *
 * ```ts
 * throw new DiscardDelay('the order does not exist');
 * ```
 */
export class DiscardDelay extends Error {
  override readonly name = 'DiscardDelay';

  constructor(readonly reason: string) {
    super(reason);
  }
}

/**
 * Thrown by a handler: run again later, without spending an attempt.
 *
 * ```ts
 * throw new PostponeDelay('10m');
 * ```
 */
export class PostponeDelay extends Error {
  override readonly name = 'PostponeDelay';

  /** @param after how long from now, like `schedule`'s `after` */
  constructor(readonly after: Duration) {
    super(`postponed by ${String(after)}`);
  }
}
