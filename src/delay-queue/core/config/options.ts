import type { EntityManager } from 'typeorm';
import type {
  AroundFunction,
  DelayAround,
  DelayName,
  DelayTransaction,
  Duration,
  ParsedPayloadOf,
} from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { DelayTelemetry } from '../api/telemetry.js';
import type { BackoffOptions, ExponentialBackoff } from './backoff.js';
import { flag } from './checks.js';
import { checkQueue, DEFAULT_QUEUE } from './queue-names.js';
import {
  atStart,
  checkKnownOptions,
  isClass,
  readable,
  readOptions,
  shown,
} from './known-options.js';
import type { Payloads } from './payloads.js';
import type { PayloadCodec } from './payload-codec.js';
import type { PayloadSchema } from './payload-schemas.js';

/**
 * Which of Nest's guards, interceptors, pipes and filters apply to handlers. `false`: none.
 * `'own'`: those of the handler's class and method. `'all'`: the application's, too.
 */
export type DelayEnhancers = false | 'own' | 'all';

/** @throws DelayInvalidError that lists the choices */
export function parseEnhancers(value: unknown): DelayEnhancers {
  if (value === false || value === 'own' || value === 'all') return value;
  throw new DelayInvalidError(
    'enhancers',
    `must be 'own' (of the handler's class and method), 'all' (the application's, too) or false, not ${shown(value)}`,
  );
}

/**
 * Options of the module; the defaults suit a shop. An invalid option stops the start with a
 * `DelayConfigError` that names it.
 *
 * ```ts
 * DelayQueueModule.forRoot({ concurrency: 20, history: { keep: '7d' } })
 * ```
 */
export interface DelayQueueOptions {
  /**
   * The database, for applications without TypeORM: a connection string, or options of a pool of `pg`.
   *
   * With it, no DataSource is looked for; the pool opens connections when calls and handlers need them.
   * @default undefined
   * @range `'postgresql://…'`, or options of `pg.Pool`
   * @see docs/orms.md
   */
  connection?: string | object | undefined;
  /**
   * Schema of the library's tables, as in `delayQueueMigrations({ schema })`.
   * @default 'delay_queue'
   * @range 1 to 48 of a-z, 0-9, _; no digit first
   */
  schema?: string;
  /**
   * `false`: this node schedules but runs no handlers. `'manual'`: tests decide when handlers run.
   *
   * With `'manual'` nothing runs until `DelayTesting` advances the time.
   * @default true
   * @range `true`, `false`, `'manual'`
   * @see docs/testing.md
   */
  worker?: boolean | 'manual';
  /**
   * `false`: runs handlers only after `DelayWorker.run()`. `true`: when all providers are
   * bootstrapped.
   *
   * For a leader, or for tenants whose connections open later. Until then this node only schedules.
   * @default true
   * @range `true`, `false`
   * @see docs/recipes/deploy.md#start-and-stop-the-worker-yourself
   */
  autorun?: boolean;
  /**
   * Name of the process, unique among running ones; shown in history and logs.
   * @default <hostname>:<pid>:<4 hex digits>
   * @range 1 to 80 printable ASCII characters
   */
  nodeName?: string;
  /**
   * Separates the `@RepeatDelay` of applications with different code that serve the same names.
   *
   * A node neither removes nor changes recurring delays of another deployment. All nodes of a
   * deployment use the same value.
   * @default undefined
   * @range 1 to 100 letters, digits and ._:/-
   * @see docs/recipes/recurring-work.md
   */
  deployment?: string;
  /**
   * Attempts of one handler at a time on this node.
   * @default 10
   * @range 1 to 10,000
   */
  concurrency?: number;
  /**
   * When `ctx.signal` aborts and the attempt counts as failed.
   * @default '30s'
   * @range 1 ms to 24 d
   */
  timeout?: Duration;
  /**
   * Attempts before a delay becomes a dead letter.
   * @default 10
   * @range 1 to 1,000
   */
  maxAttempts?: number;
  /**
   * Pause after a failed attempt; `jitter` only shortens it.
   * @default { base: '1s', factor: 2, max: '5m', jitter: 0.2 }
   */
  backoff?: BackoffOptions;
  /**
   * How long a claim holds. After a crash, a delay of a plain handler runs up to this much later,
   * one of a transactional handler within 7 s.
   * @default '30s'
   * @range 1 s to 1 h
   * @see docs/guarantees.md#after-a-crash
   */
  lease?: Duration;
  /**
   * How far ahead a node reads wakes into its timing wheel.
   * @default '30s'
   * @range 1 s to 1 h
   */
  horizon?: Duration;
  /**
   * How often it does; also the heartbeat.
   * @default '10s'
   * @range 100 ms to 1 h, below `horizon`
   */
  loadEvery?: Duration;
  /**
   * How long an idle node may leave the database alone, so that a serverless database can sleep.
   *
   * It returns before the next delay it knows of, when this process schedules, and on a hint. A
   * delay it does not know of is late by up to this time. Set it for processes that only schedule,
   * too: it determines how far ahead they send hints.
   * @default false
   * @range `false`, or 1 s to 12 h
   * @see docs/recipes/serverless-producers.md#a-database-that-sleeps
   */
  idleFor?: false | Duration;
  /**
   * Most delays that one statement claims.
   * @default 500
   * @range 1 to 5,000
   */
  claimBatch?: number;
  /**
   * Connections for the engine's statements, beside the application's pool.
   *
   * As many again for calls outside of transactions, and one to listen on a node that runs handlers:
   * with the default up to 7 in all.
   * @default 3
   * @range 2 to 20
   * @see docs/operations.md#connections
   */
  connections?: number;
  /**
   * Connections for transactional handlers, beside the application's pool: so many of them run at a
   * time. Opened when they are needed, closed after a minute without work, made from the same options.
   * @default the size of the application's pool
   * @range 1 to 1,000
   * @see docs/operations.md#connections
   */
  transactionalConnections?: number;
  /**
   * How long ended delays are kept (retention), or `false`; `names`: longer or shorter by name; with
   * `attempts`, also when, where and how each attempt ended.
   *
   * `{ keep: '30d', names: { 'sms.send': '1d' } }`. The shortest time of all nodes decides. If all
   * have `false`, existing entries are removed once the newest of them is a day old.
   * @default { keep: '24h', names: {}, attempts: false }
   * @range `false`, or 1 s to 100 years
   * @see docs/recipes/what-happened.md#retention
   */
  history?: false | DelayHistoryOptions;
  /**
   * How long a shutdown waits for handlers in flight.
   * @default '20s'
   * @range 0 to 1 h
   */
  drainTimeout?: Duration;
  /**
   * Largest payload: UTF-8 bytes of the JSON that `jsonb` writes.
   * @default 65_536
   * @range 2 bytes to 1 MiB
   */
  payloadBytesMax?: number;
  /**
   * Middleware around each handler call: tracing, contexts, tenants. The first of a list is
   * outermost.
   * @default []
   * @range up to 20
   * @see docs/api.md#around-a-call
   */
  around?: DelayAround | readonly DelayAround[];
  /**
   * Which of Nest's guards, interceptors, pipes and filters apply to handlers: those of the
   * handler's class and method, or all.
   *
   * With `'all'`, those of the application must recognize delays (`delayCallOf`): a global guard
   * that requires a logged-in user would fail every attempt.
   * @default false
   * @range `'own'`, `'all'`, `false`
   * @see docs/api.md#guards-interceptors-pipes-filters
   */
  enhancers?: DelayEnhancers;
  /**
   * Finds the surrounding transaction of calls without `manager`.
   *
   * For `@nestjs-cls/transactional`: `() => transactionHost.tx`, with other libraries than TypeORM
   * `() => (host.isTransactionActive() ? fromPrisma(host.tx) : undefined)`. A manager without an active
   * transaction counts as none. Not called for `manager: 'own'` or inside a transactional handler.
   * @default undefined
   * @range a function
   * @see docs/recipes/surrounding-transaction.md
   */
  resolveManager?: (() => EntityManager | DelayTransaction | undefined) | undefined;
  /**
   * Schemas by name, for producers and handlers. `schedule` refuses payloads that do not match.
   *
   * Handlers receive the result: `{ 'order.close': z.object({ orderId: z.string() }) }`.
   * @default {}
   * @range a schema by name
   * @see docs/api.md#payloads
   */
  payloads?: { readonly [N in DelayName]?: PayloadSchema<ParsedPayloadOf<N>> };
  /**
   * Encrypts or compresses stored payloads. All nodes need the same codec.
   * @default undefined
   * @range `encode` and `decode`
   * @see docs/recipes/payloads.md#encryption-with-key-rotation
   */
  codec?: PayloadCodec;
  /**
   * Spans and metrics for OpenTelemetry: `openTelemetry()` of `nestjs-delay-queue/opentelemetry`.
   *
   * Delays then carry `traceparent` and `tracestate` in their headers.
   * @default undefined
   * @range `openTelemetry()`
   * @see docs/recipes/opentelemetry.md
   */
  telemetry?: DelayTelemetry | undefined;
}

/** What is kept of delays that have ended. */
export interface DelayHistoryOptions {
  /** How long; default 24 h, from 1 s to 100 years. */
  keep?: Duration;
  /** How long delays of these names are kept instead: `{ 'sms.send': '1d' }`. */
  names?: { readonly [N in DelayName]?: Duration };
  /** Also when, where and how each attempt ended; default false. */
  attempts?: boolean;
}

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

/** {@link DelayQueueOptions}, checked and with defaults, all times in milliseconds. */
export interface ResolvedOptions {
  /** Name of the queue in this application; its tables do not know it. */
  queue: string;
  connection: string | object | undefined;
  schema: string;
  /** Where the delays live, and their clock: the test's under `DelayTesting`. */
  installation: { schema: string; clock: 'database' | 'test' };
  worker: boolean | 'manual';
  autorun: boolean;
  nodeName: string;
  deployment: string | undefined;
  concurrency: number;
  timeoutMs: number;
  maxAttempts: number;
  backoff: ExponentialBackoff;
  leaseMs: number;
  horizonMs: number;
  loadEveryMs: number;
  /** `null`: never. */
  idleForMs: number | null;
  claimBatch: number;
  connections: number;
  /** Undefined: as many as the application's pool has. */
  transactionalConnections: number | undefined;
  /** The names of the last one are those of all others. */
  historyKeeps: readonly HistoryKeep[];
  historyKept: HistoryKept;
  drainTimeoutMs: number;
  payloadBytesMax: number;
  /** Outermost first. */
  around: readonly AroundFunction[];
  enhancers: DelayEnhancers;
  resolveManager: (() => unknown) | undefined;
  /** Schemas and codec. */
  payloads: Payloads;
  telemetry: DelayTelemetry | undefined;
}

/** Injection token of {@link ResolvedOptions}. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-delay-queue:options');

/** Injection token of the options given to `forRoot` or `forRootAsync`. */
export const GIVEN_OPTIONS = 'nestjs-delay-queue:given-options';

/** Options of the module itself: in `forRoot`, or beside the factory of `forRootAsync`. */
export const MODULE_EXTRAS = ['isGlobal', 'dataSource', 'queue'];

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

/** For the module, and again for a handler. */
const AROUNDS_MAX = 20;

/**
 * One `around`, or a list, outermost first.
 * @throws DelayInvalidError naming the item
 */
export function parseAround(value: unknown): AroundFunction[] {
  return readable('around', () => aroundsOf(value));
}

function aroundsOf(value: unknown): AroundFunction[] {
  if (!Array.isArray(value)) return [aroundOf(value, 'around')];
  if (value.length > AROUNDS_MAX) {
    throw new DelayInvalidError('around', `must be at most ${AROUNDS_MAX}, not ${value.length}`);
  }
  return Array.from(value, (item: unknown, index) => aroundOf(item, `around[${index}]`));
}

function aroundOf(value: unknown, field: string): AroundFunction {
  if (typeof value === 'function') {
    if (isClass(value)) {
      throw new DelayInvalidError(
        field,
        'is a class; give an instance of it (forRootAsync can inject one)',
      );
    }
    return value as AroundFunction;
  }
  if (!hasAround(value)) {
    throw new DelayInvalidError(
      field,
      `must be a function, or an object with a method around, not ${shown(value)}`,
    );
  }
  // Looked up on each call, so that a spy or patch of the method takes effect.
  return (call, next) => value.around(call, next);
}

const hasAround = (value: unknown): value is { around: AroundFunction } =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'around') === 'function';
