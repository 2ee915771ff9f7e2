import { type AttemptEndEvent, type DeadEvent, withCause } from '../delay/delay.events.js';
import type { HeldClaim } from './held-claim.js';

/** What is told of the end of an attempt. Written out: a copy of its event costs 0.8 µs of the 15 that a drain spends on each delay. */
export const endOf = ({ id, row, latenessMs, durationMs }: HeldClaim): AttemptEndEvent => ({
  id: String(id),
  name: row.name,
  key: row.key,
  attempt: row.attempts,
  maxAttempts: row.max_attempts,
  latenessMs,
  durationMs,
});

/** @param claim whose attempt was the last */
export function deadEvent(claim: HeldClaim, error: string, cause: unknown): DeadEvent {
  const { id, name, key, attempt, durationMs } = endOf(claim);
  return withCause({ id, name, key, attempt, error, durationMs }, cause);
}
