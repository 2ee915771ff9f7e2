import { DelayInvalidError } from '../api/errors.js';
import {
  type ExponentialBackoff,
  type BackoffPolicy,
  functionPolicy,
  backoffMs,
  parseBackoff,
  type BackoffFunction,
} from '../config/backoff.js';
import { atStart, checkKnownOptions, isClass, shown } from '../config/known-options.js';
import {
  type DelayEnhancers,
  type ResolvedOptions,
  parseAround,
  parseEnhancers,
} from '../config/options.js';
import { parseTimeoutMs, checkConcurrency } from '../config/resolve-options.js';
import { checkName, checkMaxAttempts } from '../config/schedule-options.js';
import type { OnDelayBatchOptions, OnDelayMetadata } from './decorators.js';
import { type Handler, WAITS_MAX_MS } from './handler.registry.js';
import { limitsOf } from './handler-limits.js';

/** The part of a {@link Handler} that comes from `@OnDelay` and the module's options. */
type HandlerSettings = Pick<
  Handler,
  | 'name'
  | 'transactional'
  | 'concurrency'
  | 'limits'
  | 'batch'
  | 'timeoutMs'
  | 'leaseMs'
  | 'maxAttempts'
  | 'backoffMs'
  | 'around'
  | 'readPayload'
> & { enhancers: DelayEnhancers };

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
} satisfies Record<keyof OnDelayBatchOptions, true>);

/**
 * @param location of the `@OnDelay`, for the message
 * @param onBackoffFault receives the failure of a backoff function, or of its result
 * @throws DelayConfigError naming the location and the option
 */
export function handlerSettings(
  { name, options }: OnDelayMetadata,
  location: string,
  defaults: ResolvedOptions,
  onBackoffFault: (error: unknown) => void,
): HandlerSettings {
  return atStart(location, () => {
    const given = checkKnownOptions(options, 'options', ON_DELAY_OPTIONS);
    const { concurrency, timeout, maxAttempts, backoff, transactional, batch } = given;
    const { global: all, perGroup, around, enhancers, payload } = given;
    if (payload !== undefined) defaults.payloads.expect(checkName(name), payload, 'payload');
    const isTransactional = checkTransactional(transactional);
    const timeoutMs = timeout === undefined ? defaults.timeoutMs : parseTimeoutMs(timeout);
    return {
      name: checkName(name),
      transactional: isTransactional,
      concurrency: concurrency === undefined ? defaults.concurrency : checkConcurrency(concurrency),
      limits: limitsOf(all, perGroup),
      batch: batch === undefined ? null : checkBatch(batch),
      timeoutMs,
      // A fenced attempt is not renewed: the first lease must last, for a call that waits as well.
      leaseMs: isTransactional
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
  if (isBackoffFunction(backoff)) {
    return functionPolicy(backoff, (attempt) => backoffMs(defaults, attempt), onFault);
  }
  const own = backoff === undefined ? defaults : parseBackoff(backoff, defaults);
  return (attempt) => backoffMs(own, attempt);
}

/** Its result is checked on each call. */
function isBackoffFunction(backoff: unknown): backoff is BackoffFunction {
  return typeof backoff === 'function' && !isClass(backoff);
}

function checkTransactional(value: unknown = false): boolean {
  if (typeof value === 'boolean') return value;
  throw new DelayInvalidError('transactional', `must be true or false, not ${shown(value)}`);
}

function checkBatch(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= BATCH_MAX) {
    return value as number;
  }
  throw new DelayInvalidError(
    'batch',
    `must be a whole number from 1 to ${BATCH_MAX}, not ${shown(value)}`,
  );
}
