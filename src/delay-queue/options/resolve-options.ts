import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { DelayInvalidError } from '../delay/delay.errors.js';
import { atStart } from '../validation/blame.js';
import { parseDurationBetween, type Bound } from '../validation/duration.js';
import { checkInteger } from '../validation/integer.js';
import { checkKnownOptions } from '../validation/known-options.js';
import { checkMaxAttempts, checkSchema } from '../validation/names.js';
import { PAYLOAD_BYTES_MAX } from '../validation/payload.js';
import { shown } from '../validation/shown.js';
import { BACKOFF_DEFAULT, parseBackoff } from './backoff.js';
import type { DelayQueueOptions, ResolvedOptions } from './delay-queue.options.js';

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

/** Of the module or of one `@OnDelay`. */
export function checkConcurrency(value: unknown): number {
  return checkInteger(value, 'concurrency', 1, CONCURRENCY_MAX);
}

/** Of the module or of one `@OnDelay`. 24 days is what one Node timer can wait. */
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
