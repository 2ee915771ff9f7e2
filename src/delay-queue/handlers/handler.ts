import type { Delay, DelayContext } from '../delay.js';
import type { BackoffPolicy } from './backoff.js';

/** A method with `@OnDelay`, ready to run, with the module's defaults filled in. */
export interface Handler {
  readonly name: string;
  readonly transactional: boolean;
  /** Attempts at a time on this node. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** How long a claim of this name holds; a transactional one covers the whole timeout. */
  readonly leaseMs: number;
  readonly maxAttempts: number;
  /** How long to wait after a failed attempt, counted from 1. */
  readonly backoffMs: BackoffPolicy;
  readonly className: string;
  readonly methodName: string;
  /** For messages: `OrderTimers.close (OrdersModule)`. */
  readonly place: string;
  /**
   * Runs the method; rejects with whatever it throws, synchronously or not.
   *
   * @param ctx a `TransactionalDelayContext` when the handler is transactional
   */
  invoke(delay: Delay, ctx: DelayContext): Promise<void>;
}
