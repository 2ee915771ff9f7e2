import { ignoreRejection } from '../api/adopted.js';
import { DelayInvalidError } from '../api/errors.js';
import type { Duration } from '../api/delay.js';
import { pauseMs } from '../tasks/pauses.js';
import { checkKnownOptions, shown } from './known-options.js';
import { parseDurationMs } from './durations.js';

/**
 * Pause after a failed attempt: `base * factor^(attempt - 1)`, at most `max`, less a random share.
 *
 * ```ts
 * { base: '1s', factor: 2, max: '5m', jitter: 0.2 } // 0.8–1 s, 1.6–2 s, 3.2–4 s … 4–5 min
 * ```
 */
export interface BackoffOptions {
  /** Pause after the first failed attempt. Default `'1s'`. */
  base?: Duration;
  /** Growth per attempt, 1 to 100. Default 2. */
  factor?: number;
  /** Longest pause. Default `'5m'`. */
  max?: Duration;
  /**
   * Random share of each pause, 0 to 1. Default 0.2: the last fifth is random. 1 is "full jitter",
   * the widest spread of a burst. It only shortens: `max` holds, and pauses at `max` spread, too.
   */
  jitter?: number;
}

/**
 * Pause after failed attempt number `attempt`, from 1, without jitter. If it throws or returns no
 * duration, that is logged and the module's `backoff` applies.
 */
export type BackoffFunction = (attempt: number) => Duration;

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

const FACTOR_MAX = 100;

const BACKOFF_OPTIONS = Object.keys({
  base: true,
  factor: true,
  max: true,
  jitter: true,
} satisfies Record<keyof BackoffOptions, true>);

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
  const given = checkKnownOptions(value, 'backoff', BACKOFF_OPTIONS);
  const number = (name: 'factor' | 'jitter', min: number, max: number): number =>
    given[name] === undefined ? defaults[name] : checkNumber(given[name], name, min, max);
  const durationMs = (name: 'base' | 'max', defaultMs: number): number =>
    given[name] === undefined ? defaultMs : parseDurationMs(given[name], `backoff.${name}`);
  const parsed = {
    baseMs: durationMs('base', defaults.baseMs),
    factor: number('factor', 1, FACTOR_MAX),
    maxMs: durationMs('max', defaults.maxMs),
    jitter: number('jitter', 0, 1),
  };
  if (parsed.baseMs > parsed.maxMs) {
    throw new DelayInvalidError(
      'backoff.base',
      `must not exceed backoff.max (${parsed.baseMs} ms > ${parsed.maxMs} ms)`,
    );
  }
  return parsed;
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

function checkNumber(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === 'number' && value >= min && value <= max) return value;
  throw new DelayInvalidError(
    `backoff.${name}`,
    `must be a number from ${min} to ${max}, not ${shown(value)}`,
  );
}
