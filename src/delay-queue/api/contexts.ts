import type { EntityManager } from 'typeorm';
import type { Delay, DelayName } from './delay.js';
import type { Duration } from './times.js';

/** Second argument of a plain handler. */
export interface DelayContext {
  /** Aborts at the timeout, when the lease is lost, and at shutdown; `signal.reason` says which. */
  signal: AbortSignal;
}

/** Second argument of a transactional handler. */
export interface TransactionalDelayContext extends DelayContext {
  /**
   * The attempt's own transaction: what it writes commits together with the delay's removal. It ends
   * with the handler, and refuses everything from then on: await what is written through it.
   */
  manager: EntityManager;
}

/** Second argument of a method with `@OnDeadDelay`. */
export interface DeadDelayContext extends DelayContext {
  /** The transaction in which the delay becomes a dead letter. It ends with the method: await what is written through it. */
  manager: EntityManager;
  /** Why: the error of the last attempt as the row keeps it, or that its process died. */
  error: string;
  /** What the handler threw; undefined when the method is called again, or the process died. */
  cause: unknown;
}

/**
 * Second argument of a batch handler. When the call resolves, all its delays are done but those it
 * said something else of; when it throws, each of them runs again at once, alone, and no attempt is
 * spent.
 */
export interface DelayBatchContext extends DelayContext {
  /**
   * That delay alone failed, as if a handler of its own had thrown `error`: it is tried again after
   * its backoff, or is a dead letter with `DiscardDelay`. What was written for it is not undone.
   *
   * @throws DelayInvalidError for a delay that is not of this batch, or once the batch is over
   */
  readonly fail: (delay: Delay, error: unknown) => void;
  /**
   * That delay alone runs again later, and no attempt is spent: `fail` with a `PostponeDelay`.
   *
   * @throws DelayInvalidError as `fail`, and for what is no duration
   */
  readonly postpone: (delay: Delay, after: Duration) => void;
}

/** Second argument of a transactional batch handler. */
export interface TransactionalDelayBatchContext extends DelayBatchContext {
  /** The batch's own transaction: what it writes commits together with the removal of its delays. */
  manager: EntityManager;
}

/** One call of a handler, as an `around` sees it: for one delay, or for those of a batch. */
export interface DelayCall<N extends DelayName = DelayName> {
  readonly name: N;
  /** What the handler gets: its delay alone, or those of the batch. */
  readonly delays: readonly [Delay<N>, ...Delay<N>[]];
  /** The handler's `ctx.signal`. */
  readonly signal: AbortSignal;
  /** The attempt's own transaction, of a transactional handler. */
  readonly manager: EntityManager | undefined;
}

/**
 * Runs around a call of a handler, inside the attempt: timeout, transaction and outcome are those of the attempt. What
 * it throws fails the attempt as if the handler had thrown it, `DiscardDelay` and `PostponeDelay` too. The attempt
 * ends when both have ended.
 *
 * ```ts
 * const traced: AroundFunction = (call, next) => tracer.startActiveSpan(call.name, next);
 * ```
 *
 * @param next calls what is inside, once: the next `around`, or the handler. It resolves when that has ended, and
 * rejects with what that has thrown
 * @returns a promise; what it resolves to is ignored
 */
export type AroundFunction = (call: DelayCall, next: () => Promise<void>) => Promise<unknown>;

/** A function, or an object that has it as its method `around`: a provider, with what it was injected. */
export type DelayAround = AroundFunction | { around: AroundFunction };
