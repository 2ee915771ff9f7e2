import type { EntityManager } from 'typeorm';
import type { Delay } from './delay.js';
import type { Duration } from './duration.js';

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
