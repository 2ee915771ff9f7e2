import type { Duration } from './time/duration.js';

/** What a thrown value says; by a mark and not by its class, which is another in another copy of this package. */
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
 * Thrown by a handler: run again later, without spending an attempt. Later is in 100 ms at least.
 *
 * ```ts
 * throw new PostponeDelay('10m');
 * ```
 */
export class PostponeDelay extends Error {
  override readonly name = 'PostponeDelay';
  /** @internal */
  readonly [MEANING] = 'postpone';

  /** @param after how long from now, like `schedule`'s `after`; less than 100 ms counts as 100 ms */
  constructor(readonly after: Duration) {
    super(`postponed by ${String(after)}`);
  }
}

/** @throws what a proxy throws that is asked */
export const meansDiscard = (error: unknown): error is DiscardDelay =>
  meaningOf(error) === 'discard';

/** @throws what a proxy throws that is asked */
export const meansPostpone = (error: unknown): error is PostponeDelay =>
  meaningOf(error) === 'postpone';

/** It says what becomes of the delay, and no more: nothing went wrong. */
export function isVerdict(thrown: unknown): boolean {
  try {
    return meaningOf(thrown) !== undefined;
  } catch {
    return false;
  }
}

const meaningOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, MEANING) : undefined;
