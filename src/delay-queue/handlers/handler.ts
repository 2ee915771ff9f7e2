import type { Delay } from '../delay/delay.js';
import type { DelayContext } from '../delay/contexts.js';
import type { BackoffPolicy } from '../options/backoff.js';

/** A method with `@OnDelay`, ready to run, with the module's defaults filled in. */
export interface Handler {
  readonly name: string;
  readonly transactional: boolean;
  /** Calls at a time on this node. */
  readonly concurrency: number;
  /** Delays of one call, at most; null: the method takes a single delay. */
  readonly batch: number | null;
  readonly timeoutMs: number;
  /** How long a claim of this name holds; the claim of a transactional handler covers the whole timeout. */
  readonly leaseMs: number;
  readonly maxAttempts: number;
  /** How long to wait after a failed attempt, counted from 1. */
  readonly backoffMs: BackoffPolicy;
  /** For messages: `OrderTimers.close (OrdersModule)`. */
  readonly place: string;
  /**
   * Runs the method. Throws or rejects with the method's own error.
   *
   * @param work a list for a batch handler
   * @param ctx with `manager` when the handler is transactional, with `fail` and `postpone` for a
   * batch handler
   * @returns the method's answer: a promise, or nothing
   */
  invoke(work: Delay | Delay[], ctx: DelayContext): unknown;
}

/** What `@Inject(REQUEST)` gives in a request-scoped provider while it serves a delay. */
export interface DelayRequest {
  delay: Delay;
  ctx: DelayContext;
}

/** What `@Inject(REQUEST)` gives while the provider serves a batch. */
export interface DelayBatchRequest {
  delays: Delay[];
  ctx: DelayContext;
}
