import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { AroundFunction } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { DelayEnhancers, DelayQueueOptions } from '../api/options.js';
import type { DelayTelemetry } from '../api/telemetry.js';
import { BACKOFF_DEFAULT, parseBackoff } from './backoff.js';
import {
  asGiven,
  checkName,
  flag,
  integer,
  nameLike,
  textMatching,
  type ValueCheck,
} from './checks.js';
import { durationIn } from './durations.js';
import {
  checkKnownOptions,
  optionsByName,
  type OptionTable,
  type Parsed,
  parseByTable,
  readOptions,
} from './known-options.js';
import { checkCodec } from './payload-codec.js';
import { PAYLOAD_BYTES_MAX } from './payload-encoder.js';
import { Payloads } from './payloads.js';
import { checkQueue, DEFAULT_QUEUE } from './queue-names.js';
import { atStart, blamedOn, readable } from './refusals.js';
import { isClass, shown } from './shown.js';

/** Injection token of {@link ResolvedOptions}. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-delay-queue:options');

/** Injection token of the options given to `forRoot` or `forRootAsync`. */
export const GIVEN_OPTIONS = 'nestjs-delay-queue:given-options';

export const CONCURRENCY = integer(1, 10_000);
export const MAX_ATTEMPTS_MAX = 1_000;
export const MAX_ATTEMPTS = integer(1, MAX_ATTEMPTS_MAX);
/** A Node timer waits at most 24 days. */
export const TIMEOUT = durationIn('1ms', '24d');

const NODE_NAME_LENGTH_MAX = 80;
const nodeName = textMatching(
  new RegExp(`^[\\x20-\\x7e]{1,${NODE_NAME_LENGTH_MAX}}$`),
  `1 to ${NODE_NAME_LENGTH_MAX} printable ASCII characters`,
);

const workerMode: ValueCheck<boolean | 'manual'> = (value, field) => {
  if (typeof value === 'boolean' || value === 'manual') return value;
  throw new DelayInvalidError(field, `must be true, false or 'manual', not ${shown(value)}`);
};

const idleFor: ValueCheck<number | null> = (value, field) =>
  value === false ? null : durationIn('1s', '12h')(value, field);

const resolveManager: ValueCheck<() => unknown> = (value, field) => {
  if (typeof value === 'function' && !isClass(value)) return value as () => unknown;
  throw new DelayInvalidError(
    field,
    `must be a function that returns an EntityManager or undefined, not ${shown(value)}`,
  );
};

const telemetry: ValueCheck<DelayTelemetry> = (value, field) => {
  const methods = ['observe', 'runCall', 'runAttempts'];
  const isMade =
    typeof value === 'object' &&
    value !== null &&
    readable(field, () =>
      methods.every((method) => typeof Reflect.get(value, method) === 'function'),
    );
  if (isMade) return value as DelayTelemetry;
  throw new DelayInvalidError(
    field,
    `must be what openTelemetry() of nestjs-delay-queue/opentelemetry returns, not ${shown(value)}`,
  );
};

/** The refusal of a text does not show it: it may have a password. */
export const checkConnection: ValueCheck<string | object> = (value, field) => {
  if (typeof value === 'string') {
    if (/^postgres(?:ql)?:\/\//.test(value)) return value;
    throw new DelayInvalidError(
      field,
      'must begin with postgresql:// or postgres://, or be the options of a pool of pg',
    );
  }
  const [typeorms] = Object.keys(readOptions(value, field, ['type', 'url', 'username']));
  if (typeorms === undefined) return readable(field, () => ({ ...(value as object) }));
  throw new DelayInvalidError(
    `${field}.${typeorms}`,
    'is an option of TypeORM; pg takes connectionString, or host, port, user, password and database',
  );
};

const schemaName = textMatching(
  /^[a-z_][a-z0-9_]{0,47}$/,
  '1 to 48 lower-case letters, digits and _, not beginning with a digit',
);
/** Schemas that the library may not fill, and that reverting its migration may not drop. */
const FOREIGN_SCHEMA = /^(?:public|information_schema|pg_.*)$/;

/** A schema name that needs no quotes and leaves room for suffixes within Postgres's 63 bytes. */
export function checkSchema(value: unknown, field = 'schema'): string {
  if (typeof value !== 'string' || !FOREIGN_SCHEMA.test(value)) return schemaName(value, field);
  throw new DelayInvalidError(field, `must be a schema of the library's own, not ${shown(value)}`);
}

/** For the module, and again for a handler. */
const AROUNDS_MAX = 20;

/** One `around`, or a list, outermost first. */
export const parseAround: ValueCheck<AroundFunction[]> = (value, field) =>
  readable(field, () => {
    if (!Array.isArray(value)) return [toAround(value, field)];
    if (value.length > AROUNDS_MAX) {
      throw new DelayInvalidError(field, `must be at most ${AROUNDS_MAX}, not ${value.length}`);
    }
    return Array.from(value, (item: unknown, index) => toAround(item, `${field}[${index}]`));
  });

function toAround(value: unknown, field: string): AroundFunction {
  if (isClass(value)) {
    throw new DelayInvalidError(
      field,
      'is a class; give an instance of it (forRootAsync can inject one)',
    );
  }
  if (typeof value === 'function') return value as AroundFunction;
  const { around } = (value ?? {}) as { around?: unknown };
  if (typeof value !== 'object' || typeof around !== 'function') {
    throw new DelayInvalidError(
      field,
      `must be a function, or an object with a method around, not ${shown(value)}`,
    );
  }
  // Looked up on each call, so that a spy or patch of the method takes effect.
  return (call, next) => (value as { around: AroundFunction }).around(call, next);
}

export const parseEnhancers: ValueCheck<DelayEnhancers> = (value, field) => {
  if (value === false || value === 'own' || value === 'all') return value;
  throw new DelayInvalidError(
    field,
    `must be 'own' (of the handler's class and method), 'all' (the application's, too) or false, not ${shown(value)}`,
  );
};

/** How long the history of these names is kept, or that of all others. */
export interface HistoryKeep {
  keepMs: number;
  names: readonly string[];
  areOthers: boolean;
  /** By a node without history: only while no line is younger. */
  isAbandoned: boolean;
}

/** What history keeps: nothing, one entry for each ended delay, or each attempt as well. */
export type HistoryKept = 'nothing' | 'ends' | 'attempts';

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

const keptFor = durationIn('1s', '36525d');

/** Names by the time that their history is kept. */
const keptNames: ValueCheck<Map<number, string[]>> = (value, field) => {
  const entries = optionsByName(value, field);
  if (entries.length > KEPT_NAMES_MAX) {
    throw new DelayInvalidError(
      field,
      `must be at most ${KEPT_NAMES_MAX} names, not ${entries.length}`,
    );
  }
  const byTime = new Map<number, string[]>();
  for (const [name, time] of entries) {
    blamedOn(field, () => checkName(name));
    const keepMs = keptFor(time, `${field}.${name}`);
    byTime.set(keepMs, [...(byTime.get(keepMs) ?? []), name]);
  }
  return byTime;
};

const HISTORY = {
  keep: [keptFor, '24h'],
  names: [keptNames, {}],
  attempts: [flag, false],
} as const;

const parseHistory: ValueCheck<{ historyKeeps: HistoryKeep[]; historyKept: HistoryKept }> = (
  value,
  field,
) => {
  if (value === false) return { historyKeeps: [ABANDONED], historyKept: 'nothing' };
  if (typeof value !== 'object' || value === null) {
    throw new DelayInvalidError(field, `must be false or { keep: '24h' }, not ${shown(value)}`);
  }
  const { keep: keepMs, names: byTime, attempts } = parseByTable(value, field, HISTORY);
  byTime.delete(keepMs);
  if (byTime.size > KEPT_TIMES_MAX) {
    throw new DelayInvalidError(
      `${field}.names`,
      `must have at most ${KEPT_TIMES_MAX} different times, not ${byTime.size}`,
    );
  }
  const keeps = [...byTime].map(([ms, names]) => ({ keepMs: ms, names, areOthers: false }));
  const others = { keepMs, names: [...byTime.values()].flat(), areOthers: true };
  return {
    historyKeeps: [...keeps, others].map((keep) => ({ ...keep, isAbandoned: false })),
    historyKept: attempts ? 'attempts' : 'ends',
  };
};

/** Every option: how it is read, and its default as one would write it. */
const OPTIONS = {
  connection: checkConnection,
  schema: [checkSchema, 'delay_queue'],
  worker: [workerMode, true],
  autorun: [flag, true],
  nodeName,
  deployment: nameLike('eu'),
  concurrency: [CONCURRENCY, 10],
  timeout: [TIMEOUT, '30s'],
  maxAttempts: [MAX_ATTEMPTS, 10],
  backoff: [(value: unknown) => parseBackoff(value, BACKOFF_DEFAULT), {}],
  lease: [durationIn('1s', '1h'), '30s'],
  horizon: [durationIn('1s', '1h'), '30s'],
  loadEvery: [durationIn('100ms', '1h'), '10s'],
  idleFor: [idleFor, false],
  claimBatch: [integer(1, 5_000), 500],
  connections: [integer(2, 20), 3],
  transactionalConnections: integer(1, 1_000),
  history: [parseHistory, {}],
  drainTimeout: [durationIn('0', '1h'), '20s'],
  payloadBytesMax: [integer(2, 1_048_576), PAYLOAD_BYTES_MAX],
  around: [parseAround, []],
  enhancers: [parseEnhancers, false],
  resolveManager,
  payloads: [asGiven, {}],
  codec: checkCodec,
  telemetry,
} as const satisfies OptionTable & Record<keyof DelayQueueOptions, unknown>;

/** Options of the module itself: in `forRoot`, or beside the factory of `forRootAsync`. */
const MODULE_EXTRAS = ['isGlobal', 'dataSource', 'queue'];

/** {@link DelayQueueOptions}, checked and with defaults, all times in milliseconds. */
export type ResolvedOptions = ReturnType<typeof resolve>;

/**
 * @param options {@link DelayQueueOptions}, or `undefined` for all defaults
 * @param queue as in `forRoot({ queue })`
 * @throws DelayConfigError that names the option and what would be right
 */
export function resolveOptions(options: unknown = {}, queue = DEFAULT_QUEUE): ResolvedOptions {
  const where = queue === DEFAULT_QUEUE ? 'DelayQueueModule' : `DelayQueueModule (${queue})`;
  return atStart(where, () => {
    const given = checkKnownOptions(options, 'options', [
      ...Object.keys(OPTIONS),
      ...MODULE_EXTRAS,
    ]);
    const extra = MODULE_EXTRAS.find((name) => name in given);
    if (extra === undefined) return resolve(parseByTable(given, 'options', OPTIONS), queue);
    throw new DelayInvalidError(
      `options.${extra}`,
      'stands beside the factory of forRootAsync, not in its result',
    );
  });
}

function resolve(parsed: Parsed<typeof OPTIONS>, queue: string) {
  const { timeout, lease, horizon, loadEvery, idleFor: idle, drainTimeout, ...rest } = parsed;
  const { history, payloads: schemas, codec, nodeName: name, ...same } = rest;
  if (loadEvery >= horizon) {
    throw new DelayInvalidError(
      'loadEvery',
      `must be shorter than horizon (${loadEvery} ms >= ${horizon} ms)`,
    );
  }
  const payloads = new Payloads(same.payloadBytesMax, codec);
  payloads.expectAll(schemas);
  const isManual = same.worker === 'manual';
  const clock: 'database' | 'test' = isManual ? 'test' : 'database';
  return {
    ...same,
    ...history,
    /** Name of the queue in this application; its tables do not know it. */
    queue,
    /** Where the delays live, and their clock: the test's under `DelayTesting`. */
    installation: { schema: same.schema, clock },
    // Tests find nodes by name, and a configuration may give all the same.
    nodeName: isManual || name === undefined ? distinct(name ?? hostAndPid()) : name,
    timeoutMs: timeout,
    leaseMs: lease,
    horizonMs: horizon,
    loadEveryMs: loadEvery,
    /** `null`: never. */
    idleForMs: idle,
    drainTimeoutMs: drainTimeout,
    /** Schemas and codec. */
    payloads,
  };
}

const DIGITS = 4;

/** Random digits: containers have similar hostnames, and all run as process 1. */
const distinct = (name: string): string =>
  `${name.slice(0, NODE_NAME_LENGTH_MAX - DIGITS - 1)}:${randomBytes(DIGITS / 2).toString('hex')}`;

/** Leaves room for the digits of {@link distinct}. */
const HOSTNAME_LENGTH_MAX = 60;

const hostAndPid = (): string =>
  `${hostname()
    .replaceAll(/[^\x21-\x7e]/g, '_')
    .slice(0, HOSTNAME_LENGTH_MAX)}:${process.pid}`;

/** The sources of options in `forRootAsync`. */
const WAYS = ['useFactory', 'useClass', 'useExisting'];

const ASYNC_OPTIONS = [
  'imports',
  'inject',
  'provideInjectionTokensFrom',
  ...WAYS,
  ...MODULE_EXTRAS,
];

/**
 * Checks the argument of `forRoot`; the queue's options are checked at start.
 * @throws DelayConfigError naming the option
 */
export function checkModuleOptions(options: unknown): void {
  atStart('DelayQueueModule', () => checkExtras(readOptions(options, 'options', MODULE_EXTRAS)));
}

/**
 * Checks the argument of `forRootAsync`.
 * @throws DelayConfigError naming the option
 */
export function checkAsyncOptions(options: unknown): void {
  atStart('DelayQueueModule', () => {
    const given = checkKnownOptions(options, 'options', ASYNC_OPTIONS);
    checkExtras(given);
    const [way, another] = WAYS.filter((each) => each in given);
    if (way === undefined || another !== undefined) {
      throw new DelayInvalidError(
        WAYS.join('|'),
        'say how the options are made, with exactly one of them',
      );
    }
    if (typeof given[way] === 'function') return;
    if (way === 'useExisting' && ['string', 'symbol'].includes(typeof given[way])) return;
    throw new DelayInvalidError(way, `must be a function or a class, not ${shown(given[way])}`);
  });
}

function checkExtras({ isGlobal = true, queue = DEFAULT_QUEUE }: Record<string, unknown>): void {
  flag(isGlobal, 'isGlobal');
  checkQueue(queue, 'queue');
}
