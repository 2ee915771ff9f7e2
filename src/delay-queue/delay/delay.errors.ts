/**
 * Every error of the library, each with a stable `code`.
 *
 * | code | class | when |
 * |---|---|---|
 * | `DELAY_CONFIG` | {@link DelayConfigError} | options, handlers or the database are not usable; at start |
 * | `DELAY_INVALID` | {@link DelayInvalidError} | an argument is not acceptable; nothing was stored |
 * | `DELAY_CONFLICT` | {@link DelayConflictError} | `onConflict: 'error'` met a waiting delay |
 * | `DELAY_UNSTABLE` | {@link DelayUnstableError} | others held or kept changing that key for 10 s; try again |
 * | `DELAY_ROLLED_BACK` | {@link DelayRolledBackError} | Postgres answered ROLLBACK to COMMIT; nothing was written |
 * | `DELAY_TRANSACTION_OVER` | {@link DelayTransactionOverError} | a statement of a handler came after the end of its attempt |
 * | `DELAY_UNBEGUN` | {@link DelayUnbegunError} | the transaction of an attempt did not begin in time; the attempt was given back |
 * | `DELAY_AROUND` | `DelayAroundError` | an `around` did not call `next()` as it has to; its attempt has failed |
 * | `DELAY_GUARD` | `DelayGuardError` | a guard refused the call of a handler; its attempt has failed |
 * | `DELAY_INTERCEPTOR` | `DelayInterceptorError` | interceptors did not call the handler once; its attempt has failed |
 * | `DELAY_PAYLOAD` | `DelayPayloadError` | a stored payload does not fit into the schema of its name; a dead letter |
 * | `DELAY_CODEC` | `DelayCodecError` | the codec cannot encode or decode a payload |
 * | `DELAY_TIMEOUT` | {@link DelayTimeoutError} | abort reason: the attempt outlived its timeout |
 * | `DELAY_LEASE_LOST` | {@link DelayLeaseLostError} | abort reason: another node may run this delay now |
 * | `DELAY_ABORTED` | {@link DelayAbortedError} | abort reason: somebody cancels this delay with `running: 'abort'` |
 * | `DELAY_WHEEL_FULL` | {@link DelayWheelFullError} | too many volatile timers wait |
 * | `DELAY_SHUTDOWN` | {@link DelayShutdownError} | abort reason: the application is closing; of a write that was not answered by then, too |
 * | `DELAY_UNAVAILABLE` | {@link DelayUnavailableError} | the database was not to be had in time; nothing was written |
 * | `DELAY_TESTING` | `DelayTestingError` | of `nestjs-delay-queue/testing`: it cannot do that now |
 * | `DELAY_OUTCOME_UNKNOWN` | {@link DelayOutcomeUnknownError} | a write without a manager was sent and not answered; look, or do it again |
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

/**
 * Somebody held the row of that key for too long, or changed it under every look. Two transactions that wait
 * for each other hear it, too: roll one of them back. This call has written nothing.
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

/** A statement of the transaction had failed, and somebody had swallowed its error. */
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

/** Somebody cancels this delay: the attempt is to end, and costs nothing. */
export class DelayAbortedError extends DelayError {
  readonly code = 'DELAY_ABORTED';

  constructor() {
    super("a cancel with running: 'abort' asks this attempt to end");
  }
}

/** As many volatile timers wait as may; nothing was added. */
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
 * No connection came free in time, the server did not get to it, or a read was not answered. Nothing
 * was written: try again, and if it comes often, give the pool more connections (`extra.max`).
 */
export class DelayUnavailableError extends DelayError {
  readonly code = 'DELAY_UNAVAILABLE';

  constructor(why: string, cause?: unknown) {
    super(`${why}; nothing was written, try again`, cause === undefined ? {} : { cause });
  }
}

/**
 * A write without a manager was sent, and the connection broke or fell silent before the answer: it
 * happened or it did not. `find` tells, or the same call again with the same `key`; without a key the
 * same call again may schedule a second delay. `cause` is the driver's error.
 */
export class DelayOutcomeUnknownError extends DelayError {
  readonly code = 'DELAY_OUTCOME_UNKNOWN';

  constructor(cause: unknown) {
    super(
      'the connection was lost before the answer came, and nobody knows whether the write happened: ' +
        'look with find(), or make the same call again with the same key',
      { cause },
    );
  }
}
