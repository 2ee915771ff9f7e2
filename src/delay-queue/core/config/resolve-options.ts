import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { DelayInvalidError } from '../api/errors.js';
import type { DelayTelemetry } from '../api/telemetry.js';
import { BACKOFF_DEFAULT, parseBackoff } from './backoff.js';
import {
  atStart,
  blamedOn,
  checkKnownOptions,
  isClass,
  optionsByName,
  readable,
  readOptions,
  shown,
} from './known-options.js';
import { type Bound, parseDurationBetween } from './durations.js';
import { checkInteger, checkName, flag, nameLike, textMatching } from './checks.js';
import { checkMaxAttempts } from './schedule-options.js';
import {
  type DelayQueueOptions,
  type HistoryKeep,
  MODULE_EXTRAS,
  parseAround,
  parseEnhancers,
  type ResolvedOptions,
} from './options.js';
import { DEFAULT_QUEUE } from './queue-names.js';
import { Payloads } from './payloads.js';
import { checkCodec } from './payload-codec.js';
import { PAYLOAD_BYTES_MAX } from './payload-encoder.js';

const CONCURRENCY_MAX = 10_000;
const MEBIBYTE = 1_048_576;
const NODE_NAME_LENGTH_MAX = 80;
/** Leaves room for `:<pid>:<4 hex digits>`. */
const HOSTNAME_LENGTH_MAX = 60;

/** Options with a computed default, or without one. */
const WITHOUT_DEFAULT = {
  connection: true,
  nodeName: true,
  deployment: true,
  resolveManager: true,
  codec: true,
  telemetry: true,
  transactionalConnections: true,
};

const DEFAULTS = {
  schema: 'delay_queue',
  worker: true,
  autorun: true,
  concurrency: 10,
  timeout: '30s',
  maxAttempts: 10,
  backoff: {},
  lease: '30s',
  horizon: '30s',
  loadEvery: '10s',
  idleFor: false,
  claimBatch: 500,
  connections: 3,
  history: { keep: '24h', names: {}, attempts: false },
  drainTimeout: '20s',
  payloadBytesMax: PAYLOAD_BYTES_MAX,
  around: [],
  enhancers: false,
  payloads: {},
} satisfies Required<Omit<DelayQueueOptions, keyof typeof WITHOUT_DEFAULT>>;

/**
 * @param options {@link DelayQueueOptions}, or `undefined` for all defaults
 * @param queue as in `forRoot({ queue })`
 * @throws DelayConfigError that names the option and what would be right
 */
export function resolveOptions(options: unknown = {}, queue = DEFAULT_QUEUE): ResolvedOptions {
  const where = queue === DEFAULT_QUEUE ? 'DelayQueueModule' : `DelayQueueModule (${queue})`;
  return atStart(where, () => {
    const given = withDefaults(options);
    const durationMs = (name: keyof typeof DEFAULTS, min: Bound, max: Bound): number =>
      parseDurationBetween(given[name], name, min, max);
    const integer = (name: keyof typeof DEFAULTS, min: number, max: number): number =>
      checkInteger(given[name], name, min, max);
    const payloadBytesMax = integer('payloadBytesMax', 2, MEBIBYTE);
    const schema = checkSchema(given['schema']);
    const worker = checkWorker(given['worker']);
    const resolved: ResolvedOptions = {
      queue,
      connection: checkConnection(given['connection']),
      schema,
      installation: { schema, clock: worker === 'manual' ? 'test' : 'database' },
      worker,
      autorun: flag(given['autorun'], 'autorun'),
      nodeName: nodeName(given['nodeName'], 'nodeName'),
      deployment:
        given['deployment'] === undefined
          ? undefined
          : deployment(given['deployment'], 'deployment'),
      concurrency: checkConcurrency(given['concurrency']),
      timeoutMs: parseTimeoutMs(given['timeout']),
      maxAttempts: checkMaxAttempts(given['maxAttempts']),
      backoff: parseBackoff(given['backoff'], BACKOFF_DEFAULT),
      leaseMs: durationMs('lease', '1s', '1h'),
      horizonMs: durationMs('horizon', '1s', '1h'),
      loadEveryMs: durationMs('loadEvery', '100ms', '1h'),
      idleForMs: given['idleFor'] === false ? null : durationMs('idleFor', '1s', '12h'),
      claimBatch: integer('claimBatch', 1, 5_000),
      connections: integer('connections', 2, 20),
      transactionalConnections: connectionsIn(given['transactionalConnections']),
      ...parseHistory(given['history']),
      drainTimeoutMs: durationMs('drainTimeout', '0', '1h'),
      payloadBytesMax,
      around: parseAround(given['around']),
      enhancers: parseEnhancers(given['enhancers']),
      resolveManager: checkResolveManager(given['resolveManager']),
      payloads: new Payloads(payloadBytesMax, checkCodec(given['codec'])),
      telemetry: checkTelemetry(given['telemetry']),
    };
    if (resolved.loadEveryMs >= resolved.horizonMs) {
      throw new DelayInvalidError(
        'loadEvery',
        `must be shorter than horizon (${resolved.loadEveryMs} ms >= ${resolved.horizonMs} ms)`,
      );
    }
    // Tests find nodes by name, and a configuration may give all the same.
    if (resolved.worker === 'manual') resolved.nodeName = distinct(resolved.nodeName);
    resolved.payloads.expectAll(given['payloads']);
    return resolved;
  });
}

/** An option that is `undefined` counts as omitted: `{ lease: process.env.LEASE }`. */
function withDefaults(options: unknown): Record<string, unknown> {
  const known = [...Object.keys(DEFAULTS), ...Object.keys(WITHOUT_DEFAULT)];
  const given = checkKnownOptions(options, 'options', [...known, ...MODULE_EXTRAS]);
  const extra = MODULE_EXTRAS.find((name) => name in given);
  if (extra !== undefined) {
    throw new DelayInvalidError(
      `options.${extra}`,
      'stands beside the factory of forRootAsync, not in its result',
    );
  }
  return {
    ...DEFAULTS,
    nodeName: defaultNodeName(),
    ...given,
  };
}

/** For the module or one `@OnDelay`. */
export function checkConcurrency(value: unknown): number {
  return checkInteger(value, 'concurrency', 1, CONCURRENCY_MAX);
}

/** For the module or one `@OnDelay`. A Node timer waits at most 24 days. */
export function parseTimeoutMs(value: unknown): number {
  return parseDurationBetween(value, 'timeout', '1ms', '24d');
}

function checkWorker(value: unknown): boolean | 'manual' {
  if (typeof value === 'boolean' || value === 'manual') return value;
  throw new DelayInvalidError('worker', `must be true, false or 'manual', not ${shown(value)}`);
}

/** The refusal of a text does not show it: it may have a password. */
export function checkConnection(value: unknown): ResolvedOptions['connection'] {
  if (value === undefined) return undefined;
  if (typeof value === 'string') {
    if (/^postgres(?:ql)?:\/\//.test(value)) return value;
    throw new DelayInvalidError(
      'connection',
      'must begin with postgresql:// or postgres://, or be the options of a pool of pg',
    );
  }
  const [typeorms] = Object.keys(readOptions(value, 'connection', ['type', 'url', 'username']));
  if (typeorms === undefined) return readable('connection', () => ({ ...(value as object) }));
  throw new DelayInvalidError(
    `connection.${typeorms}`,
    'is an option of TypeORM; pg takes connectionString, or host, port, user, password and database',
  );
}

function checkResolveManager(value: unknown): (() => unknown) | undefined {
  if (value === undefined || (typeof value === 'function' && !isClass(value))) {
    return value as (() => unknown) | undefined;
  }
  throw new DelayInvalidError(
    'resolveManager',
    `must be a function that returns an EntityManager or undefined, not ${shown(value)}`,
  );
}

function checkTelemetry(value: unknown): DelayTelemetry | undefined {
  if (value === undefined) return undefined;
  const methods = ['observe', 'runCall', 'runAttempts'];
  const isMade =
    typeof value === 'object' &&
    value !== null &&
    readable('telemetry', () =>
      methods.every((method) => typeof Reflect.get(value, method) === 'function'),
    );
  if (isMade) return value as DelayTelemetry;
  throw new DelayInvalidError(
    'telemetry',
    `must be what openTelemetry() of nestjs-delay-queue/opentelemetry returns, not ${shown(value)}`,
  );
}

const nodeName = textMatching(
  new RegExp(`^[\\x20-\\x7e]{1,${NODE_NAME_LENGTH_MAX}}$`),
  `1 to ${NODE_NAME_LENGTH_MAX} printable ASCII characters`,
);

const deployment = nameLike('eu');

const connectionsIn = (value: unknown): number | undefined =>
  value === undefined ? undefined : checkInteger(value, 'transactionalConnections', 1, 1_000);

const DIGITS = 4;

const distinct = (name: string): string =>
  `${name.slice(0, NODE_NAME_LENGTH_MAX - DIGITS - 1)}:${randomBytes(DIGITS / 2).toString('hex')}`;

/** Random digits: containers have similar hostnames, and all run as process 1. */
function defaultNodeName(): string {
  const host = hostname()
    .replaceAll(/[^\x21-\x7e]/g, '_')
    .slice(0, HOSTNAME_LENGTH_MAX);
  return distinct(`${host}:${process.pid}`);
}

function parseHistory(value: unknown): Pick<ResolvedOptions, 'historyKeeps' | 'historyKept'> {
  if (value === false) return { historyKeeps: [ABANDONED], historyKept: 'nothing' };
  if (typeof value !== 'object' || value === null) {
    throw new DelayInvalidError('history', `must be false or { keep: '24h' }, not ${shown(value)}`);
  }
  const given = checkKnownOptions(value, 'history', Object.keys(DEFAULTS.history));
  const { keep, names, attempts } = { ...DEFAULTS.history, ...given };
  const keepsAttempts = flag(attempts, 'history.attempts');
  const keepMs = keepMsOf(keep, 'history.keep');
  return {
    historyKeeps: historyKeepsOf(keepMs, names),
    historyKept: keepsAttempts ? 'attempts' : 'ends',
  };
}

const keepMsOf = (value: unknown, field: string): number =>
  parseDurationBetween(value, field, '1s', '36525d');

/** What other nodes left when history was switched off. */
const ABANDONED: HistoryKeep = {
  keepMs: 86_400_000,
  names: [],
  areOthers: true,
  isAbandoned: true,
};

const KEPT_NAMES_MAX = 1_000;
/** Each is a walk through history. */
const KEPT_TIMES_MAX = 20;

function historyKeepsOf(keepMs: number, names: unknown): HistoryKeep[] {
  const entries = optionsByName(names, 'history.names');
  if (entries.length > KEPT_NAMES_MAX) {
    throw new DelayInvalidError(
      'history.names',
      `must be at most ${KEPT_NAMES_MAX} names, not ${entries.length}`,
    );
  }
  const byTime = new Map<number, string[]>();
  for (const [name, time] of entries) {
    blamedOn('history.names', () => checkName(name));
    const itsMs = keepMsOf(time, `history.names.${name}`);
    byTime.set(itsMs, [...(byTime.get(itsMs) ?? []), name]);
  }
  byTime.delete(keepMs);
  if (byTime.size > KEPT_TIMES_MAX) {
    throw new DelayInvalidError(
      'history.names',
      `must have at most ${KEPT_TIMES_MAX} different times, not ${byTime.size}`,
    );
  }
  const isAbandoned = false;
  return [
    ...[...byTime].map(([ms, its]) => ({ keepMs: ms, names: its, areOthers: false, isAbandoned })),
    { keepMs, names: [...byTime.values()].flat(), areOthers: true, isAbandoned },
  ];
}

const schemaName = textMatching(
  /^[a-z_][a-z0-9_]{0,47}$/,
  '1 to 48 lower-case letters, digits and _, not beginning with a digit',
);
/** Schemas that the library may not fill, and that reverting its migration may not drop. */
const FOREIGN_SCHEMA = /^(?:public|information_schema|pg_.*)$/;

/** A schema name that needs no quotes and leaves room for suffixes within Postgres's 63 bytes. */
export function checkSchema(value: unknown): string {
  if (typeof value === 'string' && FOREIGN_SCHEMA.test(value)) {
    throw new DelayInvalidError(
      'schema',
      `must be a schema of the library's own, not ${shown(value)}`,
    );
  }
  return schemaName(value, 'schema');
}
