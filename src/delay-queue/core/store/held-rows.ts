import { setTimeout as pause } from 'node:timers/promises';
import { DelayUnstableError } from '../api/errors.js';
import { readSqlState, LOCK_NOT_AVAILABLE } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';

/** At least this many looks, because one look that waits may use up the whole limit. */
const LOOKS_MIN = 10;

/** Pauses between looks double from the first to the last; jitter keeps two callers out of step. */
const PAUSE: Growth = { firstMs: 2, factor: 2, lastMs: 50, jitter: 0.5 };

/**
 * Looks until there is an answer.
 *
 * @param look returns undefined when the row changed under it, or another session holds it
 * @throws DelayUnstableError when there is no answer within `heldMaxMs`
 */
export async function untilStable<Result>(
  look: () => Promise<Result | undefined>,
  heldMaxMs: number,
): Promise<Result> {
  const giveUpAtMs = performance.now() + heldMaxMs;
  for (let looks = 1; ; looks += 1) {
    const answer = await look();
    if (answer !== undefined) return answer;
    if (looks >= LOOKS_MIN && performance.now() >= giveUpAtMs)
      throw new DelayUnstableError(heldMaxMs);
    await pause(pauseMs(PAUSE, looks));
  }
}

/** How a statement waits for a row in that transaction: ours must not wait forever. */
export const chooseLockWait = ({ transaction }: Runner): 'waits' | 'a while' =>
  transaction === 'callers' ? 'waits' : 'a while';

/**
 * Runs statements that wait `a while` for a row.
 * @throws DelayUnstableError when that wait was limited by us, outside of a caller's transaction
 */
export async function orHeld<Result>(
  { transaction }: Runner,
  heldMaxMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (transaction === 'callers' || readSqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    throw new DelayUnstableError(heldMaxMs);
  }
}
