import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Duration } from '../delay/duration.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import {
  BACKOFF_DEFAULT,
  parseBackoff,
  type BackoffOptions,
  type ExponentialBackoff,
} from './backoff.js';
import { atStart } from '../validation/blame.js';
import { parseDurationBetween, type Bound } from '../validation/duration.js';
import { checkInteger } from '../validation/integer.js';
import { checkKnownOptions } from '../validation/known-options.js';
import { checkMaxAttempts, checkSchema } from '../validation/names.js';
import { PAYLOAD_BYTES_MAX } from '../validation/payload.js';
import { shown } from '../validation/shown.js';

/**
 * Options of the module; every one has a default that suits a shop. What is wrong stops the start
 * with a `DelayConfigError` that names the option.
 *
 * ```ts
 * DelayQueueModule.forRoot({ concurrency: 20, history: { keep: '7d' } })
 * ```
 */
export interface DelayQueueOptions {
  /** Schema of the library's tables: 1 to 48 of `a-z 0-9 _`. Default `'delay_queue'`. */
  schema?: string;
  /** `false`: this node only schedules and runs no handlers. Default `true`. */
  worker?: boolean;
  /**
   * Unique per running process; shown in history and logs. 1 to 80 printable ASCII characters.
   * Default `<hostname>:<pid>:<4 hex digits>`.
   */
  nodeName?: string;
  /** Attempts of one handler at a time on this node, 1 to 10,000. Default 10. */
  concurrency?: number;
  /** When an attempt's signal aborts and the attempt counts as failed, 1 ms to 24 d. Default `'30s'`. */
  timeout?: Duration;
  /** Attempts before a delay becomes a dead letter, 1 to 1,000. Default 10. */
  maxAttempts?: number;
  /** Pause between attempts. Default `{ base: '1s', factor: 2, max: '5m', jitter: 0.2 }`. */
  backoff?: BackoffOptions;
  /**
   * How long a claim holds, and so how late a delay can be whose process died while it ran.
   * 1 s to 1 h. Default `'30s'`.
   */
  lease?: Duration;
  /** How far ahead the wheel is loaded, 1 s to 1 h. Default `'30s'`. */
  horizon?: Duration;
  /** How often it is loaded, 100 ms to 1 h, and more often than `horizon`. Default `'10s'`. */
  loadEvery?: Duration;
  /** Delays claimed by one statement at most, 1 to 5,000. Default 500. */
  claimBatch?: number;
  /** The engine's own connections, beside the application's pool, 2 to 20. Default 3. */
  connections?: number;
  /** What ended is kept this long (1 s to 100 years), or not at all. Default `{ keep: '24h' }`. */
  history?: false | { keep: Duration };
  /** How long a shutdown waits for handlers in flight, 0 to 1 h. Default `'20s'`. */
  drainTimeout?: Duration;
  /** Largest payload, as `jsonb` writes its JSON, in UTF-8: 2 bytes to 1 MiB. Default 65,536. */
  payloadBytesMax?: number;
}

/** {@link DelayQueueOptions} checked, without gaps, all times in milliseconds. */
export interface ResolvedOptions {
  schema: string;
  worker: boolean;
  nodeName: string;
  concurrency: number;
  timeoutMs: number;
  maxAttempts: number;
  backoff: ExponentialBackoff;
  leaseMs: number;
  horizonMs: number;
  loadEveryMs: number;
  claimBatch: number;
  connections: number;
  /** `null`: no history. */
  historyKeepMs: number | null;
  drainTimeoutMs: number;
  payloadBytesMax: number;
}

/** Injection token of {@link ResolvedOptions}. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-delay-queue:options');

const CONCURRENCY_MAX = 10_000;
const MEBIBYTE = 1_048_576;
const NODE_NAME_LENGTH_MAX = 80;
/** Leaves room for `:<pid>:<4 hex digits>`. */
const HOSTNAME_LENGTH_MAX = 60;

const DEFAULTS = {
  schema: 'delay_queue',
  worker: true,
  concurrency: 10,
  timeout: '30s',
  maxAttempts: 10,
  backoff: {},
  lease: '30s',
  horizon: '30s',
  loadEvery: '10s',
  claimBatch: 500,
  connections: 3,
  history: { keep: '24h' },
  drainTimeout: '20s',
  payloadBytesMax: PAYLOAD_BYTES_MAX,
} satisfies Required<Omit<DelayQueueOptions, 'nodeName'>>;

/**
 * @param options {@link DelayQueueOptions}, or `undefined` for all defaults
 * @throws DelayConfigError that names the option and what would be right
 */
export function resolveOptions(options: unknown = {}): ResolvedOptions {
  return atStart('DelayQueueModule', () => {
    const given = withDefaults(options);
    const durationMs = (name: keyof typeof DEFAULTS, min: Bound, max: Bound): number =>
      parseDurationBetween(given[name], name, min, max);
    const integer = (name: keyof typeof DEFAULTS, min: number, max: number): number =>
      checkInteger(given[name], name, min, max);
    const resolved: ResolvedOptions = {
      schema: checkSchema(given['schema']),
      worker: checkWorker(given['worker']),
      nodeName: checkNodeName(given['nodeName']),
      concurrency: checkConcurrency(given['concurrency']),
      timeoutMs: parseTimeoutMs(given['timeout']),
      maxAttempts: checkMaxAttempts(given['maxAttempts']),
      backoff: parseBackoff(given['backoff'], BACKOFF_DEFAULT),
      leaseMs: durationMs('lease', '1s', '1h'),
      horizonMs: durationMs('horizon', '1s', '1h'),
      loadEveryMs: durationMs('loadEvery', '100ms', '1h'),
      claimBatch: integer('claimBatch', 1, 5_000),
      connections: integer('connections', 2, 20),
      historyKeepMs: parseHistory(given['history']),
      drainTimeoutMs: durationMs('drainTimeout', '0', '1h'),
      payloadBytesMax: integer('payloadBytesMax', 2, MEBIBYTE),
    };
    if (resolved.loadEveryMs >= resolved.horizonMs) {
      throw new DelayInvalidError(
        'loadEvery',
        `must be shorter than horizon (${resolved.loadEveryMs} ms >= ${resolved.horizonMs} ms)`,
      );
    }
    return resolved;
  });
}

/** An option that is `undefined` counts as left out: `{ lease: process.env.LEASE }`. */
function withDefaults(options: unknown): Record<string, unknown> {
  const known = [...Object.keys(DEFAULTS), 'nodeName'];
  const given = Object.entries(checkKnownOptions(options, 'options', known));
  return {
    ...DEFAULTS,
    nodeName: defaultNodeName(),
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  };
}

/** Of a handler or of all; also for `@OnDelay`. */
export function checkConcurrency(value: unknown): number {
  return checkInteger(value, 'concurrency', 1, CONCURRENCY_MAX);
}

/** Of a handler or of all; also for `@OnDelay`. 24 days is what one Node timer can wait. */
export function parseTimeoutMs(value: unknown): number {
  return parseDurationBetween(value, 'timeout', '1ms', '24d');
}

function checkWorker(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new DelayInvalidError('worker', `must be true or false, not ${shown(value)}`);
}

function checkNodeName(value: unknown): string {
  if (typeof value === 'string' && /^[\x20-\x7e]+$/.test(value)) {
    if (value.length <= NODE_NAME_LENGTH_MAX) return value;
  }
  throw new DelayInvalidError(
    'nodeName',
    `must be 1 to ${NODE_NAME_LENGTH_MAX} printable ASCII characters, not ${shown(value)}`,
  );
}

/** Random digits, because containers share a hostname pattern and all run as process 1. */
function defaultNodeName(): string {
  const host = hostname()
    .replaceAll(/[^\x21-\x7e]/g, '_')
    .slice(0, HOSTNAME_LENGTH_MAX);
  return `${host}:${process.pid}:${randomBytes(2).toString('hex')}`;
}

function parseHistory(value: unknown): number | null {
  if (value === false) return null;
  if (typeof value !== 'object' || value === null) {
    throw new DelayInvalidError('history', `must be false or { keep: '24h' }, not ${shown(value)}`);
  }
  const { keep } = checkKnownOptions(value, 'history', ['keep']);
  return parseDurationBetween(keep, 'history.keep', '1s', '36525d');
}
