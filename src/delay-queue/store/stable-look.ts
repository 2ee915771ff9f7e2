import { setTimeout as pause } from 'node:timers/promises';
import { DelayUnstableError } from '../delay/delay.errors.js';
import { type Growth, pauseMs } from '../tasks/growing-pause.js';

/** A look that waits may itself take longer. */
const LOOKS_MIN = 10;

/** Pauses between looks double from the first to the last; at random, so that two do not keep in step. */
const PAUSE: Growth = { firstMs: 2, factor: 2, lastMs: 50, jitter: 0.5 };

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
    await pause(pauseMs(PAUSE, looks));
  }
}
