import type { Duration } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { integer, type ValueCheck } from '../config/checks.js';
import { durationIn } from '../config/durations.js';
import { checkKnownOptions, parseByTable } from '../config/known-options.js';
import { CONCURRENCY } from '../config/options.js';

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

/** `max / 25` attempts may start together: one by one, each would need its own claim. */
const BURST_PART = 25;

export const NO_LIMIT: HandlerLimit = { concurrency: 0, burst: 0, refillPerMs: 0 };

const RATE = { max: integer(1, 100_000), per: durationIn('100ms', '1d') };

/**
 * A token bucket of `burst`, refilled at a steady rate. In any period `per`, at most its content
 * plus the refill can start, which is `max`. So a full bucket costs a 25th of the refill rate.
 */
const bucket: ValueCheck<Pick<HandlerLimit, 'burst' | 'refillPerMs'>> = (value, field) => {
  const given = checkKnownOptions(value, field, Object.keys(RATE));
  const max = RATE.max(given['max'], `${field}.max`);
  const perMs = RATE.per(given['per'], `${field}.per`);
  const burst = Math.floor(max / BURST_PART);
  // At `per / max` apart, the one after `max` of them starts when `per` is over.
  if (burst <= 1) return { burst: 1, refillPerMs: max / perMs };
  return { burst, refillPerMs: (max - burst) / perMs };
};

const LIMIT = { concurrency: CONCURRENCY, rateLimit: bucket };

export const parseLimit: ValueCheck<HandlerLimit> = (value, field) => {
  const { concurrency, rateLimit } = parseByTable(value, field, LIMIT);
  if (concurrency === undefined && rateLimit === undefined) {
    throw new DelayInvalidError(field, 'say which limit: concurrency, rateLimit, or both');
  }
  return { ...NO_LIMIT, ...(concurrency && { concurrency }), ...rateLimit };
};
