import { setTimeout as pause } from 'node:timers/promises';
import { DelayUnstableError } from '../delay/delay.errors.js';
import { type Growth, pauseMs } from '../tasks/growing-pause.js';
import { LOCK_NOT_AVAILABLE, sqlStateOf } from './sql-state.js';
import type { Runner } from './wire/runner.js';

/** A look that waits may itself take longer. */
const LOOKS_MIN = 10;

/** Pauses between looks double from the first to the last; at random, so that two do not keep in step. */
const PAUSE: Growth = { firstMs: 2, factor: 2, lastMs: 50, jitter: 0.5 };

/**
 * Looks until there is an answer.
 *
 * @param look answers undefined when the row changed under it, or another session holds it; told which look it is, from 1 on
 * @throws DelayUnstableError
 */
export async function untilStable<Answer>(
  look: (looks: number) => Promise<Answer | undefined>,
  heldMaxMs: number,
): Promise<Answer> {
  const giveUpAtMs = performance.now() + heldMaxMs;
  for (let looks = 1; ; looks += 1) {
    const answer = await look(looks);
    if (answer !== undefined) return answer;
    if (looks >= LOOKS_MIN && performance.now() >= giveUpAtMs)
      throw new DelayUnstableError(heldMaxMs);
    await pause(pauseMs(PAUSE, looks));
  }
}

/**
 * Runs statements that wait `a while` for a row: outside of a caller's transaction the limit is ours, and so is
 * the error.
 *
 * @throws DelayUnstableError
 */
export async function orHeld<Result>(
  { transaction }: Runner,
  heldMaxMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (transaction === 'callers' || sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    throw new DelayUnstableError(heldMaxMs);
  }
}
