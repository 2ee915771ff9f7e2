import { DelayInvalidError } from '../api/errors.js';
import {
  type ExponentialBackoff,
  type BackoffPolicy,
  functionPolicy,
  backoffMs,
  parseBackoff,
  type BackoffFunction,
} from '../config/backoff.js';
import { atStart, checkKnownOptions, isClass } from '../config/known-options.js';
import {
  type DelayEnhancers,
  type ResolvedOptions,
  parseAround,
  parseEnhancers,
} from '../config/options.js';
import { parseTimeoutMs, checkConcurrency } from '../config/resolve-options.js';
import { checkInteger, checkName, flag } from '../config/checks.js';
import { checkMaxAttempts } from '../config/schedule-options.js';
import type { DecoratorEntries, OnDelayBatchOptions } from './decorators.js';
import { type Handler, WAITS_MAX_MS } from './handler.registry.js';
import { parseLimits } from './handler-limits.js';

/** The part of a {@link Handler} that comes from `@OnDelay` and the module's options. */
type HandlerSettings = Omit<Handler, 'location' | 'invoke' | 'onDead'> & {
  enhancers: DelayEnhancers;
};

/** Delays per call: one statement carries them each way, and memory holds their payloads. */
const BATCH_MAX = 1_000;

const ON_DELAY_OPTIONS = Object.keys({
  concurrency: true,
  global: true,
  perGroup: true,
  timeout: true,
  maxAttempts: true,
  backoff: true,
  transactional: true,
  batch: true,
  around: true,
  enhancers: true,
  payload: true,
  queue: true,
} satisfies Record<keyof OnDelayBatchOptions, true>);

/**
 * @param location of the `@OnDelay`, which a refusal names
 * @param onBackoffFault receives the failure of a backoff function, or of its result
 */
export function handlerSettings(
  { name, options }: DecoratorEntries['@OnDelay'],
  location: string,
  defaults: ResolvedOptions,
  onBackoffFault: (error: unknown) => void,
): HandlerSettings {
  return atStart(location, () => {
    const given = checkKnownOptions(options, 'options', ON_DELAY_OPTIONS);
    const { concurrency, timeout, maxAttempts, backoff, transactional = false, batch } = given;
    const { global: all, perGroup, around, enhancers, payload } = given;
    if (payload !== undefined) defaults.payloads.expect(checkName(name), payload, 'payload');
    const own = transactional === 'own';
    const isTransactional = own ? false : flag(transactional, 'transactional');
    if (own && batch !== undefined) {
      throw new DelayInvalidError(
        'batch',
        "is not for transactional: 'own': complete one delay at a time",
      );
    }
    const timeoutMs = timeout === undefined ? defaults.timeoutMs : parseTimeoutMs(timeout);
    return {
      name: checkName(name),
      queue: defaults,
      transactional: isTransactional,
      own,
      concurrency: concurrency === undefined ? defaults.concurrency : checkConcurrency(concurrency),
      limits: parseLimits(all, perGroup),
      batch: batch === undefined ? null : checkInteger(batch, 'batch', 1, BATCH_MAX),
      timeoutMs,
      // A fenced attempt is not renewed: the first lease must last, for a call that waits as well.
      leaseMs:
        isTransactional || own
          ? Math.max(timeoutMs + 2 * WAITS_MAX_MS, defaults.leaseMs)
          : defaults.leaseMs,
      maxAttempts: maxAttempts === undefined ? defaults.maxAttempts : checkMaxAttempts(maxAttempts),
      backoffMs: backoffPolicy(backoff, defaults.backoff, onBackoffFault),
      readPayload: defaults.payloads.readerOf(checkName(name)),
      around: around === undefined ? defaults.around : [...defaults.around, ...parseAround(around)],
      enhancers: enhancers === undefined ? defaults.enhancers : parseEnhancers(enhancers),
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
