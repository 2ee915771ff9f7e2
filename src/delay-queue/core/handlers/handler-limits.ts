import type { Duration } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { checkInteger } from '../config/checks.js';
import { parseDurationBetween } from '../config/durations.js';
import { checkKnownOptions, blamedOn } from '../config/known-options.js';

/** Limits over all nodes, for a name or for each of its groups. */
export interface LimitOptions {
  /** Attempts that run at a time, 1 to 10,000. */
  concurrency?: number;
  /** Attempts that start within any period `per`: up to 100,000, in 100 ms to 1 day. */
  rateLimit?: { max: number; per: Duration };
}

/** A limit in the form that the claim uses. */
export interface HandlerLimit {
  /** 0: unlimited. */
  concurrency: number;
  /** Attempts that may start at once after an idle period; 0: unlimited. */
  burst: number;
  /** Further attempts that may start per millisecond. */
  refillPerMs: number;
}

export interface HandlerLimits {
  all: HandlerLimit;
  perGroup: HandlerLimit;
}

const CONCURRENCY_MAX = 10_000;

const RATE_MAX = 100_000;

/** `max / 25` attempts may start together: one by one, each would need its own claim. */
const BURST_PART = 25;

const NO_LIMIT: HandlerLimit = { concurrency: 0, burst: 0, refillPerMs: 0 };

/** Null if there is no limit. */
export function parseLimits(all: unknown, perGroup: unknown): HandlerLimits | null {
  if (all === undefined && perGroup === undefined) return null;
  return { all: parseLimit(all, 'global'), perGroup: parseLimit(perGroup, 'perGroup') };
}

function parseLimit(value: unknown, option: string): HandlerLimit {
  if (value === undefined) return NO_LIMIT;
  const { concurrency, rateLimit } = checkKnownOptions(value, option, ['concurrency', 'rateLimit']);
  if (concurrency === undefined && rateLimit === undefined) {
    throw new DelayInvalidError(option, 'say which limit: concurrency, rateLimit, or both');
  }
  return blamedOn(option, () => ({
    concurrency:
      concurrency === undefined ? 0 : checkInteger(concurrency, 'concurrency', 1, CONCURRENCY_MAX),
    ...(rateLimit === undefined ? { burst: 0, refillPerMs: 0 } : parseBucket(rateLimit)),
  }));
}

/**
 * A token bucket of `burst`, refilled at a steady rate. In any period `per`, at most its content
 * plus the refill can start, which is `max`. So a full bucket costs a 25th of the refill rate.
 */
function parseBucket(value: unknown): Pick<HandlerLimit, 'burst' | 'refillPerMs'> {
  const given = checkKnownOptions(value, 'rateLimit', ['max', 'per']);
  return blamedOn('rateLimit', () => {
    const max = checkInteger(given['max'], 'max', 1, RATE_MAX);
    const perMs = parseDurationBetween(given['per'], 'per', '100ms', '1d');
    const burst = Math.floor(max / BURST_PART);
    // At `per / max` apart, the one after `max` of them starts when `per` is over.
    if (burst <= 1) return { burst: 1, refillPerMs: max / perMs };
    return { burst, refillPerMs: (max - burst) / perMs };
  });
}
