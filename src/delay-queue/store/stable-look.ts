import { setTimeout as pause } from 'node:timers/promises';
import { DelayUnstableError } from '../delay/delay.errors.js';

/** A look that waits may itself take longer. */
const LOOKS_MIN = 10;

/** Pauses between looks double from the first to the last; at random, so that two do not keep in step. */
const PAUSE_FIRST_MS = 1;
const PAUSE_LAST_MS = 50;

/**
 * Looks until there is an answer.
 *
 * @param look answers undefined when the row changed under it, or somebody holds it
 * @throws DelayUnstableError
 */
export async function untilStable<Answer>(
  look: () => Promise<Answer | undefined>,
  heldMaxMs: number,
): Promise<Answer> {
  const giveUpAtMs = performance.now() + heldMaxMs;
  for (let looks = 1; ; looks += 1) {
    const answer = await look();
    if (answer !== undefined) return answer;
    if (looks >= LOOKS_MIN && performance.now() >= giveUpAtMs)
      throw new DelayUnstableError(heldMaxMs);
    const fullMs = Math.min(PAUSE_LAST_MS, PAUSE_FIRST_MS * 2 ** looks);
    await pause(fullMs * (0.5 + Math.random() / 2));
  }
}
