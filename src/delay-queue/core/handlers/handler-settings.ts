import { DelayInvalidError } from '../api/errors.js';
import type { BackoffFunction, DelayEnhancers } from '../api/options.js';
import {
  type ExponentialBackoff,
  type BackoffPolicy,
  functionPolicy,
  backoffMs,
  parseBackoff,
} from '../config/backoff.js';
import { asGiven, checkName, flag, integer } from '../config/checks.js';
import { type OptionTable, parseByTable } from '../config/known-options.js';
import {
  CONCURRENCY,
  MAX_ATTEMPTS,
  parseAround,
  parseEnhancers,
  type ResolvedOptions,
  TIMEOUT,
} from '../config/options.js';
import { parseQueues } from '../config/queue-names.js';
import { atStart, readable } from '../config/refusals.js';
import { isClass } from '../config/shown.js';
import type { DecoratorEntries, OnDelayBatchOptions } from './decorators.js';
import { type Handler, WAITS_MAX_MS } from './handler.registry.js';
import { NO_LIMIT, parseLimit } from './handler-limits.js';

/** The part of a {@link Handler} that comes from `@OnDelay` and the module's options. */
type HandlerSettings = Omit<Handler, 'location' | 'invoke' | 'onDead'> & {
  enhancers: DelayEnhancers;
};

/** Every option of `@OnDelay`. Defaults are the module's. */
const ON_DELAY = {
  concurrency: CONCURRENCY,
  global: parseLimit,
  perGroup: parseLimit,
  timeout: TIMEOUT,
  maxAttempts: MAX_ATTEMPTS,
  backoff: asGiven,
  transactional: [
    (value: unknown, field: string) => (value === 'own' ? ('own' as const) : flag(value, field)),
    false,
  ],
  // One statement carries them each way, and memory holds their payloads.
  batch: integer(1, 1_000),
  around: parseAround,
  enhancers: parseEnhancers,
  payload: asGiven,
  queue: (value: unknown, field: string) => readable(field, () => parseQueues(value)),
} as const satisfies OptionTable & Record<keyof OnDelayBatchOptions, unknown>;

/**
 * @param location of the `@OnDelay`, which a refusal names
 * @param onBackoffFault receives the failure of a backoff function, or of its result
 */
export function handlerSettings(
  { name: givenName, options }: DecoratorEntries['@OnDelay'],
  location: string,
  defaults: ResolvedOptions,
  onBackoffFault: (error: unknown) => void,
): HandlerSettings {
  return atStart(location, () => {
    const name = checkName(givenName);
    const given = parseByTable(options, 'options', ON_DELAY);
    const { transactional, timeout: timeoutMs = defaults.timeoutMs, batch = null, payload } = given;
    const { global: all, perGroup } = given;
    const { concurrency, maxAttempts, enhancers } = { ...defaults, ...given };
    if (payload !== undefined) defaults.payloads.expect(name, payload, 'payload');
    const own = transactional === 'own';
    if (own && batch !== null) {
      throw new DelayInvalidError(
        'batch',
        "is not for transactional: 'own': complete one delay at a time",
      );
    }
    return {
      name,
      queue: defaults,
      transactional: transactional === true,
      own,
      concurrency,
      limits: all || perGroup ? { all: all ?? NO_LIMIT, perGroup: perGroup ?? NO_LIMIT } : null,
      batch,
      timeoutMs,
      // A fenced attempt is not renewed: the first lease must last, for a call that waits as well.
      leaseMs:
        transactional === false
          ? defaults.leaseMs
          : Math.max(timeoutMs + 2 * WAITS_MAX_MS, defaults.leaseMs),
      maxAttempts,
      backoffMs: backoffPolicy(given.backoff, defaults.backoff, onBackoffFault),
      readPayload: defaults.payloads.readerOf(name),
      around: [...defaults.around, ...(given.around ?? [])],
      enhancers,
    };
  });
}

function backoffPolicy(
  backoff: unknown,
  defaults: ExponentialBackoff,
  onFault: (error: unknown) => void,
): BackoffPolicy {
  // Its result is checked on each call.
  if (typeof backoff === 'function' && !isClass(backoff)) {
    const fallback = (attempt: number): number => backoffMs(defaults, attempt);
    return functionPolicy(backoff as BackoffFunction, fallback, onFault);
  }
  const own = backoff === undefined ? defaults : parseBackoff(backoff, defaults);
  return (attempt) => backoffMs(own, attempt);
}
