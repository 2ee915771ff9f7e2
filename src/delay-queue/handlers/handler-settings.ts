import type { ResolvedOptions } from '../options/delay-queue.options.js';
import { parseAround } from '../options/around.js';
import { type DelayEnhancers, parseEnhancers } from '../options/enhancers.js';
import { checkConcurrency, parseTimeoutMs } from '../options/resolve-options.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import type { OnDelayBatchOptions, OnDelayMetadata } from './on-delay.decorator.js';
import { atStart } from '../validation/blame.js';
import { limitsOf } from './limits.js';
import { checkKnownOptions } from '../validation/known-options.js';
import { checkMaxAttempts, checkName } from '../validation/names.js';
import { isClass, shown } from '../validation/shown.js';
import {
  backoffMs,
  functionPolicy,
  parseBackoff,
  type BackoffFunction,
  type BackoffPolicy,
  type ExponentialBackoff,
} from '../options/backoff.js';
import type { Handler } from './handler.js';

/** The part of a {@link Handler} that comes from its `@OnDelay` and the module's options. */
export type HandlerSettings = Pick<
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

/** Delays of one call: they travel in one statement each way, and are held in memory with their payloads. */
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
 * @param place whose `@OnDelay` it is, for the message
 * @param onBackoffFault hears of a backoff function that throws or answers no duration
 * @throws DelayConfigError naming the place and the option
 */
export function handlerSettings(
  { name, options }: OnDelayMetadata,
  place: string,
  defaults: ResolvedOptions,
  onBackoffFault: (error: unknown) => void,
): HandlerSettings {
  return atStart(place, () => {
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
      // A fenced attempt is not renewed: its lease must last from the start.
      leaseMs: isTransactional ? Math.max(timeoutMs, defaults.leaseMs) : defaults.leaseMs,
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

/** The function's answer is checked each time. */
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
