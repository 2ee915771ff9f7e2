import type { DiscardDelay, PostponeDelay } from './delay.errors.js';

/** What a thrown value says; by a mark and not by its class, which is another in another copy of this package. */
export const MEANING = Symbol.for('nestjs-delay-queue:meaning');

/** @throws what a proxy throws that is asked */
export const meansDiscard = (error: unknown): error is DiscardDelay =>
  meaningOf(error) === 'discard';

/** @throws what a proxy throws that is asked */
export const meansPostpone = (error: unknown): error is PostponeDelay =>
  meaningOf(error) === 'postpone';

const meaningOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, MEANING) : undefined;
