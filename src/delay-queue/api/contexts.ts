import type { EntityManager } from 'typeorm';
import type { Delay, DelayName } from './delay.js';
import type { Duration } from './times.js';

/** Second argument of a plain handler. */
export interface DelayContext {
  /** Aborts at the timeout, on a lost lease, and at shutdown; `signal.reason` is the cause. */
  signal: AbortSignal;
}

/** Second argument of a transactional handler. */
export interface TransactionalDelayContext extends DelayContext {
  /**
   * The attempt's transaction: it commits what is written through it together with the delay's
   * removal. It ends with the handler and then refuses everything: await all writes.
   */
  manager: EntityManager;
}

/** Second argument of a method with `@OnDeadDelay`. */
export interface DeadDelayContext extends DelayContext {
  /** The transaction that writes the dead letter. It ends with the method: await all writes. */
  manager: EntityManager;
  /** The error of the last attempt as the row keeps it, or that its process died. */
  error: string;
  /** What the handler threw. `undefined` when the method is called again, or the process died. */
  cause: unknown;
}

/**
 * Second argument of a batch handler. If the call resolves, its delays complete, except those
 * passed to `fail` or `postpone`. If it throws, each delay runs again at once, alone; no attempt is
 * spent.
 */
export interface DelayBatchContext extends DelayContext {
  /**
   * Fails one delay as if its own handler had thrown `error`: it is retried after its backoff, or
   * with `DiscardDelay` becomes a dead letter. What was written for it is not undone.
   * @throws DelayInvalidError for a delay of another batch, or after the batch has ended
   */
  readonly fail: (delay: Delay, error: unknown) => void;
  /**
   * Runs one delay of the batch again later and spends no attempt: `fail` with a `PostponeDelay`.
   * @throws DelayInvalidError as `fail`, and for an invalid duration
   */
  readonly postpone: (delay: Delay, after: Duration) => void;
}

/** Second argument of a transactional batch handler. */
export interface TransactionalDelayBatchContext extends DelayBatchContext {
  /** The batch's transaction: writes through it commit together with the removal of its delays. */
  manager: EntityManager;
}

/** One call of a handler as middleware sees it: for one delay, or for those of a batch. */
export interface DelayCall<N extends DelayName = DelayName> {
  readonly name: N;
  /** The delay of the handler, or all delays of its batch. */
  readonly delays: readonly [Delay<N>, ...Delay<N>[]];
  /** The handler's `ctx.signal`. */
  readonly signal: AbortSignal;
  /** The attempt's transaction, for a transactional handler. */
  readonly manager: EntityManager | undefined;
}

/**
 * Middleware around a call of a handler, inside the attempt: it shares the attempt's timeout,
 * transaction and outcome. What it throws fails the attempt as if the handler had thrown it,
 * including `DiscardDelay` and `PostponeDelay`. The attempt ends when both have ended.
 *
 * ```ts
 * const traced: AroundFunction = (call, next) => tracer.startActiveSpan(call.name, next);
 * ```
 * @param next calls the next `around`, or the handler; to be called once. It resolves when that has
 * ended, and rejects with what that threw
 * @returns a promise; its value is ignored
 */
export type AroundFunction = (call: DelayCall, next: () => Promise<void>) => Promise<unknown>;

/** A function, or an object with a method `around`, such as an injected provider. */
export type DelayAround = AroundFunction | { around: AroundFunction };
