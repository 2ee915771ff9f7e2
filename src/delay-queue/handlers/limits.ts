import type { Duration } from '../delay/time/duration.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import { within } from '../validation/blame.js';
import { parseDurationBetween } from '../validation/duration.js';
import { checkInteger } from '../validation/integer.js';
import { checkKnownOptions } from '../validation/known-options.js';

/** What all nodes together may begin, of a name or of each of its groups. */
export interface LimitOptions {
  /** Attempts that run at a time, 1 to 10,000. */
  concurrency?: number;
  /** Attempts that begin within any time so long: up to 100,000 in 100 ms to a day. */
  rateLimit?: { max: number; per: Duration };
}

/** A limit as the claim knows it. */
export interface Limit {
  /** 0: any number. */
  concurrency: number;
  /** Attempts that may begin at once after a rest; 0: any number. */
  burst: number;
  /** How many more may begin with each millisecond. */
  refillPerMs: number;
}

export interface HandlerLimits {
  all: Limit;
  perGroup: Limit;
}

const CONCURRENCY_MAX = 10_000;
const RATE_MAX = 100_000;

/** The part of a rate that may begin together: one by one, each would be a claim of its own. */
const BURST_PART = 25;

const NO_LIMIT: Limit = { concurrency: 0, burst: 0, refillPerMs: 0 };

/**
 * @returns null when there is none
 * @throws DelayInvalidError naming the option
 */
export function limitsOf(all: unknown, perGroup: unknown): HandlerLimits | null {
  if (all === undefined && perGroup === undefined) return null;
  return { all: limitOf(all, 'global'), perGroup: limitOf(perGroup, 'perGroup') };
}

function limitOf(value: unknown, option: string): Limit {
  if (value === undefined) return NO_LIMIT;
  const { concurrency, rateLimit } = checkKnownOptions(value, option, ['concurrency', 'rateLimit']);
  if (concurrency === undefined && rateLimit === undefined) {
    throw new DelayInvalidError(option, 'say which limit: concurrency, rateLimit, or both');
  }
  return within(option, () => ({
    concurrency:
      concurrency === undefined ? 0 : checkInteger(concurrency, 'concurrency', 1, CONCURRENCY_MAX),
    ...(rateLimit === undefined ? { burst: 0, refillPerMs: 0 } : bucketOf(rateLimit)),
  }));
}

/**
 * A bucket of `burst` that is refilled: within any time `per` no more can begin than it holds and gets, and that is
 * `max`. A full bucket therefore slows the refill by as much, a 25th.
 */
function bucketOf(value: unknown): Pick<Limit, 'burst' | 'refillPerMs'> {
  const given = checkKnownOptions(value, 'rateLimit', ['max', 'per']);
  return within('rateLimit', () => {
    const max = checkInteger(given['max'], 'max', 1, RATE_MAX);
    const perMs = parseDurationBetween(given['per'], 'per', '100ms', '1d');
    const burst = Math.floor(max / BURST_PART);
    // One by one they are `per / max` apart, and the next one after `max` of them begins when `per` is over.
    if (burst <= 1) return { burst: 1, refillPerMs: max / perMs };
    return { burst, refillPerMs: (max - burst) / perMs };
  });
}
