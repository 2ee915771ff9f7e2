/** Twice a second: more often would not be noticed. */
const ROUND_MS = 500;

/**
 * When a message goes out that may go out from that instant on: with the next round. Half a second
 * does not matter for a text message, and what is due together is fired together, by one call of a
 * batch handler with one set of statements. Deadlines of orders keep their millisecond.
 */
export const nextRound = (instant: Date): Date =>
  new Date(Math.ceil(instant.getTime() / ROUND_MS) * ROUND_MS);
