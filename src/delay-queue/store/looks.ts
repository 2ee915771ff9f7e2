import { setTimeout as pause } from 'node:timers/promises';
import { DelayUnstableError } from '../api/errors.js';
import { LOCK_NOT_AVAILABLE, sqlStateOf } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import { type Growth, pauseMs } from '../tasks/growing-pause.js';
import type { LockWait } from './sql/fragments/clock.js';
import type { PlacedRow } from './write-answers.js';

type LimitedWait = Exclude<LockWait, 'waits'>;

/** A statement that looks at a key's row, with one text for each kind of lock wait. */
export class KeyLook {
  readonly #first: Record<LimitedWait, string>;
  readonly #again: Record<LimitedWait, string>;

  /** @param build may return a different text for the first look than for later ones */
  constructor(build: (lockWait: LimitedWait, look: 'first' | 'again') => string) {
    const texts = (look: 'first' | 'again') => ({
      'a while': build('a while', look),
      'at once': build('at once', look),
    });
    this.#first = texts('first');
    this.#again = texts('again');
  }

  /**
   * Looks at one key once; undefined means that it has to look again.
   *
   * In a transaction no look waits. A look that waited behind a claim would lock a row that is now
   * leased, and the transaction would keep that lock until its end: the attempt could neither renew
   * its lease nor write its outcome. A rollback to a savepoint would release the lock, but would
   * also undo what other branches of the caller have written in the meantime.
   *
   * @param looks the number of this look, from 1
   */
  async look(runner: Runner, parameters: unknown[], looks = 1): Promise<PlacedRow | undefined> {
    const sql = looks === 1 ? this.#first : this.#again;
    const lockWait = runner.transaction === undefined ? 'a while' : 'at once';
    const [row] = await runner.query<PlacedRow>(sql[lockWait], parameters);
    return row?.verdict === 'again' ? undefined : row;
  }
}

/** At least this many looks, because one look that waits may use up the whole limit. */
const LOOKS_MIN = 10;

/** Pauses between looks double from the first to the last; jitter keeps two callers out of step. */
const PAUSE: Growth = { firstMs: 2, factor: 2, lastMs: 50, jitter: 0.5 };

/**
 * Looks until there is an answer.
 *
 * @param look returns undefined when the row changed under it, or another session holds it; its
 * argument is the number of the look, from 1
 * @throws DelayUnstableError when there is no answer within `heldMaxMs`
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
    if (transaction === 'callers' || sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    throw new DelayUnstableError(heldMaxMs);
  }
}
