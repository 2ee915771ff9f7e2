import { ignoreRejection } from '../api/adopted.js';
import { DelayInvalidError } from '../api/errors.js';
import type { BackoffFunction, BackoffOptions } from '../api/options.js';
import { pauseMs } from '../tasks/pauses.js';
import { number } from './checks.js';
import { parseDurationMs } from './durations.js';
import { parseByTable } from './known-options.js';

/** {@link BackoffOptions} with defaults, in milliseconds. */
export interface ExponentialBackoff {
  baseMs: number;
  factor: number;
  maxMs: number;
  jitter: number;
}

/** Whole milliseconds to pause after failed attempt number `attempt`, from 1. */
export type BackoffPolicy = (attempt: number) => number;

export const BACKOFF_DEFAULT: ExponentialBackoff = {
  baseMs: 1_000,
  factor: 2,
  maxMs: 300_000,
  jitter: 0.2,
};

const BACKOFF = {
  base: parseDurationMs,
  factor: number(1, 100),
  max: parseDurationMs,
  jitter: number(0, 1),
} satisfies Record<keyof BackoffOptions, unknown>;

/**
 * @param random returns 0 (inclusive) to 1 (exclusive), like `Math.random`
 * @returns whole milliseconds, 0 to `maxMs`
 */
export function backoffMs(
  { baseMs, factor, maxMs, jitter }: ExponentialBackoff,
  attempt: number,
  random: () => number = Math.random,
): number {
  const growth = { firstMs: baseMs, factor, lastMs: maxMs, jitter };
  return Math.round(pauseMs(growth, attempt, random));
}

/** @throws DelayInvalidError naming the option. Omitted options come from `defaults` */
export function parseBackoff(value: unknown, defaults: ExponentialBackoff): ExponentialBackoff {
  const given = parseByTable(value, 'backoff', BACKOFF);
  const { base: baseMs = defaults.baseMs, max: maxMs = defaults.maxMs } = given;
  const { factor = defaults.factor, jitter = defaults.jitter } = given;
  if (baseMs <= maxMs) return { baseMs, factor, maxMs, jitter };
  throw new DelayInvalidError(
    'backoff.base',
    `must not exceed backoff.max (${baseMs} ms > ${maxMs} ms)`,
  );
}

/**
 * A failing backoff function must not cost the delay its retry: `fallback` replaces it.
 * @param onFault receives what `backoff` threw, or why its result is not a duration
 */
export function functionPolicy(
  backoff: BackoffFunction,
  fallback: BackoffPolicy,
  onFault: (error: unknown) => void,
): BackoffPolicy {
  return (attempt) => {
    try {
      return parseDurationMs(ignoreRejection(backoff(attempt)), 'backoff');
    } catch (error) {
      onFault(error);
      return fallback(attempt);
    }
  };
}
