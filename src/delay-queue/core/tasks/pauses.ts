import { setTimeout as pauseFor } from 'node:timers/promises';

export interface Growth {
  firstMs: number;
  factor: number;
  lastMs: number;
  /** The random share of each pause, 0 to 1. It only shortens a pause. */
  jitter: number;
}

/**
 * `firstMs * factor^(times - 1)`, at most `lastMs`, shortened by a random share.
 *
 * @param times counted from 1
 * @param random returns 0 (inclusive) to 1 (exclusive), like `Math.random`
 */
export function pauseMs(
  { firstMs, factor, lastMs, jitter }: Growth,
  times: number,
  random: () => number = Math.random,
): number {
  // 0 times an overflowing power would be NaN.
  if (firstMs === 0) return 0;
  const fullMs = Math.min(lastMs, firstMs * factor ** (times - 1));
  return fullMs * (1 - jitter * random());
}

/** After a failure of the engine's own work: doubles from the first to the last. */
const RETRY: Growth = { firstMs: 100, factor: 2, lastMs: 5_000, jitter: 0.5 };

/** How long the engine waits after that many failures in a row, in milliseconds. */
export function retryPauseMs(failures: number): number {
  return pauseMs(RETRY, failures);
}

/** Pauses before a row that is locked for a short time is tried again. */
const LOCKED: Growth = { firstMs: 5, factor: 2, lastMs: 1_000, jitter: 0 };

/** How long to wait for a row that was found locked that many times, in milliseconds. */
export function lockedPauseMs(times: number): number {
  return pauseMs(LOCKED, times);
}

/** Waits without keeping the process alive. */
export function rest(ms: number): Promise<void> {
  return pauseFor(ms, undefined, { ref: false });
}
