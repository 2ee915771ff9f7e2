import type { WakeCursor, SweptPage } from '../store/rows/delay-rows.js';

/**
 * A pass over everything overdue also reads the dead rows that cannot be removed. With a snapshot
 * held for ten minutes at 2,000 delays a second these were two million: 3 s, four times a minute. A
 * pass that takes longer than this is followed by shorter ones.
 */
const QUICK_MS = 100;

/** The shorter passes go on for this many times its duration, and no longer than the maximum. */
const SLOW_START_REST_FACTOR = 50;
const REST_MS_MAX = 300_000;

/** A row committed this long after its wake is still found from the oldest row on. */
const GRACE_MS = 5_000;

/**
 * Where passes begin: at the beginning of the index or, while that costs too much, at the oldest row
 * of an earlier pass. Older rows only come by a commit after their wake, or an `at` in the past.
 */
export class ScanStart {
  #oldest: WakeCursor | null = null;
  #allAgainAtMs = -Infinity;
  #isOfAll = true;
  #isFirstPage = true;
  #tookMs = 0;

  /** @returns where a pass begins now; null: at the beginning of the index */
  begin(nowMs: number): WakeCursor | null {
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
    // Of several pages, the last reports only the oldest row behind the others.
    if (!isWhole) {
      this.#oldest = null;
      return;
    }
    const graceMs = databaseMs - GRACE_MS;
    this.#oldest = { wakeMs: Math.min(oldestMs ?? graceMs, graceMs) - 1, id: 0 };
    if (!this.#isOfAll) return;
    const restMs = this.#tookMs <= QUICK_MS ? 0 : this.#tookMs * SLOW_START_REST_FACTOR;
    this.#allAgainAtMs = nowMs + Math.min(REST_MS_MAX, restMs);
  }
}
