import type { EntityManager } from 'typeorm';
import type { ActingCall } from '../../producer/transaction/handler-context.js';
import type { Handler } from '../../handlers/handler.js';
import type { Attempt } from './attempt.js';
import type { Outcome } from '../../settlement/outcome.js';

/** One call of a handler: a single attempt, or a batch of them that commits together. */
export interface Call extends ActingCall {
  readonly handler: Handler;
  /** Those that are not decided yet. */
  readonly attempts: readonly Attempt[];
  /** Those that end well if the call does: the handler said nothing else of them. */
  readonly completing: readonly Attempt[];
  manager: EntityManager | undefined;
  /** Its handler was called: from then on the attempts count. */
  called: boolean;
  /** COMMIT is on its way: whatever is heard of it, it may have happened. */
  committing: boolean;
  over: boolean;
  /** The application is closing: a handler that gives up now loses no attempt. */
  readonly closing: boolean;
  /** `performance.now()` at which the first of its leases ends. */
  readonly leaseEndsAtMs: number;
  /** Told when nobody waits for the handler any more. */
  onCut: ((outcome: Outcome) => void) | undefined;
  readonly signal: AbortSignal;

  /** Tells the handler to give up; the first reason stays. */
  abort(reason: Error): void;
  /** Settles what is open before the handler does. */
  cut(outcome: Outcome): void;
  /** Leaves out those whose row is not held any more. @returns whether any is left */
  keepOnly(ids: ReadonlySet<number>): boolean;
  /** What becomes of each attempt when the call ends like this. */
  outcomes(outcome: Outcome): Iterable<[Attempt, Outcome]>;
}
