import { setTimeout as pause } from 'node:timers/promises';
import { DelayUnstableError } from '../api/errors.js';
import { LOCK_NOT_AVAILABLE, sqlStateOf } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import { type Growth, pauseMs } from '../tasks/growing-pause.js';
import type { LockWait } from './sql/fragments/clock.js';
import type { PlacedRow } from './write-answers.js';

type LimitedWait = Exclude<LockWait, 'waits'>;

/** A statement that looks at a key's row, in a text for each way to meet a session that holds it. */
export class KeyLook {
  readonly #first: Record<LimitedWait, string>;
  readonly #again: Record<LimitedWait, string>;

  /** @param build its first look may be another text than those that follow */
  constructor(build: (lockWait: LimitedWait, look: 'first' | 'again') => string) {
    const texts = (look: 'first' | 'again') => ({
      'a while': build('a while', look),
      'at once': build('at once', look),
    });
    this.#first = texts('first');
    this.#again = texts('again');
  }

  /**
   * Looks once at one key; undefined when it has to be looked at again.
   * @param looks which look it is, from 1 on
   *
   * A look that waited behind a claim has the lock of a row that it then finds leased, and a transaction
   * would keep it to its end: the attempt could neither renew its lease nor write its result. To take
   * that back would take back as well what other branches of the caller have written meanwhile. So in a
   * transaction no look waits.
   */
  async look(runner: Runner, parameters: unknown[], looks = 1): Promise<PlacedRow | undefined> {
    const sql = looks === 1 ? this.#first : this.#again;
    const lockWait = runner.transaction === undefined ? 'a while' : 'at once';
    const [row] = await runner.query<PlacedRow>(sql[lockWait], parameters);
    return row?.verdict === 'again' ? undefined : row;
  }
}

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
