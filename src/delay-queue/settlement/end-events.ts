import { type AttemptEndEvent, type DeadEvent, withCause } from '../delay/delay.events.js';
import type { HeldClaim } from './held-claim.js';

/** What is told of the end of an attempt. */
export const endOf = ({ event, durationMs }: HeldClaim): AttemptEndEvent => ({
  ...event,
  durationMs,
});

/** @param claim whose attempt was the last */
export function deadEvent(claim: HeldClaim, error: string, cause: unknown): DeadEvent {
  const { id, name, key, attempt, durationMs } = endOf(claim);
  return withCause({ id, name, key, attempt, error, durationMs }, cause);
}
