import { setTimeout as pause } from 'node:timers/promises';
import { type Growth, pauseMs } from '../../tasks/growing-pause.js';
import { sqlStateOf } from '../../store/sql-state.js';

/** Postgres breaks a deadlock by failing one of its parties, and undoes all that one did. */
const DEADLOCK = '40P01';

/** Pauses double from the first to the last try; at random, so that the same two do not meet again. */
const TRIES_MAX = 8;
const PAUSE: Growth = { firstMs: 8, factor: 2, lastMs: 2_048, jitter: 1 };

/**
 * Does work again that was a deadlock's victim. Only for a whole transaction, or a statement that
 * is one. Callers of `scheduleMany` lock in one order, but a key that is cancelled meanwhile is
 * inserted out of turn.
 */
export async function despiteDeadlocks<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES_MAX || sqlStateOf(error) !== DEADLOCK) throw error;
    }
    await pause(pauseMs(PAUSE, tries));
  }
}
