import type { Delay } from '../delay/delay.js';
import type { AroundFunction, DeadDelayContext, DelayContext } from '../delay/contexts.js';
import type { HandlerLimits } from './limits.js';
import type { PayloadReader } from '../payloads/payloads.js';
import type { BackoffPolicy } from '../options/backoff.js';

/** A method with `@OnDelay`, ready to run, with the module's defaults filled in. */
export interface Handler {
  readonly name: string;
  readonly transactional: boolean;
  /** Calls at a time on this node. */
  readonly concurrency: number;
  /** Of all nodes together; null: none. */
  readonly limits: HandlerLimits | null;
  /** Delays of one call, at most; null: the method takes a single delay. */
  readonly batch: number | null;
  readonly timeoutMs: number;
  /** How long a claim of this name holds; the claim of a transactional handler covers the whole timeout. */
  readonly leaseMs: number;
  readonly maxAttempts: number;
  /** How long to wait after a failed attempt, counted from 1. */
  readonly backoffMs: BackoffPolicy;
  /** What surrounds each call: the first outside. */
  readonly around: readonly AroundFunction[];
  /** The method with `@OnDeadDelay` of that name, if there is one. */
  readonly onDead?: DeadHandler;
  /** Undefined when the handler gets what is stored. */
  readonly readPayload: PayloadReader | undefined;
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

/** A method with `@OnDeadDelay`. */
export interface DeadHandler {
  /** For messages. */
  readonly place: string;
  readonly readPayload: PayloadReader | undefined;
  invoke(delay: Delay, ctx: DeadDelayContext): unknown;
}
