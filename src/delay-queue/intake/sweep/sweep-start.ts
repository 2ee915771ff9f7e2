import type { Cursor, SweptPage } from '../../store/wire/wakes.js';

/**
 * A pass over all that is overdue walks over all that has died there and cannot be removed: while a snapshot was held for
 * ten minutes at 2,000 delays a second, that were two million rows, for 3 s four times a minute. A pass that takes
 * longer than this is followed by shorter ones...
 */
const QUICK_MS = 100;

/** ...for so many times as long, and no longer than that. */
const REST_FACTOR = 50;
const REST_MS_MAX = 300_000;

/** A row may be committed this long after its wake, and still be found by a pass that begins at the oldest row. */
const GRACE_MS = 5_000;

/**
 * Where passes begin: at the beginning of all, or, as long as that would cost too much, at what was the oldest row when it was
 * looked for last. Older ones can only come by a commit later than their wake, or with an `at` in the past.
 */
export class SweepStart {
  #oldest: Cursor | null = null;
  #allAgainAtMs = -Infinity;
  #isOfAll = true;
  #isFirstPage = true;
  #tookMs = 0;

  /** @returns where a pass begins that begins now; null: at the beginning */
  begin(nowMs: number): Cursor | null {
    this.#isOfAll = this.#oldest === null || nowMs >= this.#allAgainAtMs;
    this.#isFirstPage = true;
    this.#tookMs = 0;
    return this.#isOfAll ? null : this.#oldest;
  }

  /** A page of the pass was read, from `askedAtMs` to `nowMs` of `performance.now()`. */
  read({ cursor, oldestMs, nowMs: databaseMs }: SweptPage, askedAtMs: number, nowMs: number): void {
    this.#tookMs += nowMs - askedAtMs;
    const isWhole = this.#isFirstPage && cursor === null;
    this.#isFirstPage = false;
    // Of several pages the last tells what is oldest behind the others.
    if (!isWhole) {
      this.#oldest = null;
      return;
    }
    const graceMs = databaseMs - GRACE_MS;
    this.#oldest = { wakeMs: Math.min(oldestMs ?? graceMs, graceMs) - 1, id: 0 };
    if (!this.#isOfAll) return;
    const restMs = this.#tookMs <= QUICK_MS ? 0 : this.#tookMs * REST_FACTOR;
    this.#allAgainAtMs = nowMs + Math.min(REST_MS_MAX, restMs);
  }
}
