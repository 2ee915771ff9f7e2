/** Twice a second: more often would not be noticed. */
const ROUND_MS = 500;

/**
 * When a message that may go out from that instant on does go out: with the next round. Half
 * a second does not matter in a text message, and what falls due together is fired together, by one call of
 * a batch handler with one set of statements. An order's deadlines, in contrast, keep their millisecond.
 */
export const nextRound = (instant: Date): Date =>
  new Date(Math.ceil(instant.getTime() / ROUND_MS) * ROUND_MS);
