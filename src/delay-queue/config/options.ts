import type { EntityManager } from 'typeorm';
import type { AroundFunction, DelayAround } from '../api/contexts.js';
import type { DelayName, ParsedPayloadOf } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import type { HistoryKept } from '../api/history.js';
import type { Duration } from '../api/times.js';
import type { BackoffOptions, ExponentialBackoff } from './backoff.js';
import { atStart, isClass, readable, shown } from './blame.js';
import { checkKnownOptions, readOptions } from './known-options.js';
import type { PayloadCodec } from './payload-codec.js';
import type { Payloads, PayloadSchema } from './payloads.js';

/**
 * Which of Nest's guards, interceptors, pipes and filters take part in the calls of a handler: `false` none; `'own'`
 * those that its class and its method name; `'all'` the application's, too.
 */
export type DelayEnhancers = false | 'own' | 'all';

/** @throws DelayInvalidError that says what there is */
export function parseEnhancers(value: unknown): DelayEnhancers {
  if (value === false || value === 'own' || value === 'all') return value;
  throw new DelayInvalidError(
    'enhancers',
    `must be 'own' (of the handler's class and method), 'all' (the application's, too) or false, not ${shown(value)}`,
  );
}

/**
 * Options of the module; every one has a default that suits a shop. What is wrong stops the start
 * with a `DelayConfigError` that names the option.
 *
 * ```ts
 * DelayQueueModule.forRoot({ concurrency: 20, history: { keep: '7d' } })
 * ```
 */
export interface DelayQueueOptions {
  /**
   * The schema of the library's tables; the migrations take the same: `delayQueueMigrations({ schema })`.
   * @default 'delay_queue'
   * @range 1 to 48 of a-z, 0-9, _; no digit first
   */
  schema?: string;
  /**
   * `false`: this node schedules and runs no handlers. `'manual'`: it runs them when a test says so.
   *
   * With `'manual'` nothing runs by itself: `DelayTesting` lets time pass.
   *
   * @default true
   * @range `true`, `false`, `'manual'`
   * @see docs/testing.md
   */
  worker?: boolean | 'manual';
  /**
   * `false`: runs handlers only after `DelayWorker.run()`. Otherwise once every provider has bootstrapped.
   *
   * For a leader, say, or for connections of tenants that are opened later. Until then this node schedules only.
   *
   * @default true
   * @range `true`, `false`
   * @see docs/recipes/start-and-stop.md
   */
  autorun?: boolean;
  /**
   * Unique per running process; shown in history and logs.
   * @default <hostname>:<pid>:<4 hex digits>
   * @range 1 to 80 printable ASCII characters
   */
  nodeName?: string;
  /**
   * Keeps apart what `@RepeatDelay` declares in applications with different code that serve the same names.
   *
   * A node neither withdraws nor changes what another deployment declares. All nodes of one have the same.
   *
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
   * When an attempt's signal aborts and the attempt counts as failed.
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
   * The pause after a failed attempt; `jitter` only shortens it.
   * @default { base: '1s', factor: 2, max: '5m', jitter: 0.2 }
   */
  backoff?: BackoffOptions;
  /**
   * How long a claim holds. If a process dies while a plain handler runs, the delay comes so much later; a transactional one
   * comes after seconds.
   * @default '30s'
   * @range 1 s to 1 h
   */
  lease?: Duration;
  /**
   * How far ahead the wheel is loaded.
   * @default '30s'
   * @range 1 s to 1 h
   */
  horizon?: Duration;
  /**
   * How often it is loaded; also the heartbeat.
   * @default '10s'
   * @range 100 ms to 1 h, below `horizon`
   */
  loadEvery?: Duration;
  /**
   * How long a node with nothing to do may leave the database alone, so that a serverless one can sleep.
   *
   * It comes back before the next delay it knows of, when this process schedules, and at a hint. What it is not told of is late by
   * up to that time. Give it to processes that only schedule, too: how far ahead they send hints follows from it.
   *
   * @default false
   * @range `false`, or 1 s to 12 h
   * @see docs/recipes/serverless-producers.md#a-database-that-sleeps
   */
  idleFor?: false | Duration;
  /**
   * Delays claimed by one statement at most.
   * @default 500
   * @range 1 to 5,000
   */
  claimBatch?: number;
  /**
   * The engine's own connections, beside the application's pool.
   * @default 3
   * @range 2 to 20
   */
  connections?: number;
  /**
   * How long what ended is kept, or `false`; with `attempts` each attempt, too: when, where and how it ended.
   *
   * Where it is `false` on all nodes, the lines of before go when the last of them is a day old.
   * @default { keep: '24h', attempts: false }
   * @range `false`, or 1 s to 100 years
   * @see docs/recipes/what-happened.md
   */
  history?: false | { keep?: Duration; attempts?: boolean };
  /**
   * How long a shutdown waits for handlers in flight.
   * @default '20s'
   * @range 0 to 1 h
   */
  drainTimeout?: Duration;
  /**
   * The largest payload, as `jsonb` writes its JSON, in UTF-8.
   * @default 65_536
   * @range 2 bytes to 1 MiB
   */
  payloadBytesMax?: number;
  /**
   * Runs around each call of a handler: tracing, contexts, tenants. Of a list the first is outside.
   * @default []
   * @range up to 20
   * @see docs/api.md#around-a-call
   */
  around?: DelayAround | readonly DelayAround[];
  /**
   * Nest's guards, interceptors, pipes and filters around handlers: those of a handler's class and method, or all.
   *
   * With `'all'` the application's take part, too; they have to know what a delay is (`delayCallOf`): a global guard that
   * asks who is logged in would fail every attempt.
   *
   * @default false
   * @range `'own'`, `'all'`, `false`
   * @see docs/api.md#guards-interceptors-pipes-filters
   */
  enhancers?: DelayEnhancers;
  /**
   * Finds the surrounding transaction for calls without `manager`.
   *
   * Of `@nestjs-cls/transactional` `() => transactionHost.tx`. A manager without an active transaction counts as none.
   * `manager: 'own'` stays outside. Inside a transactional handler it is not asked.
   *
   * @default undefined
   * @range a function
   * @see docs/recipes/surrounding-transaction.md
   */
  resolveManager?: (() => EntityManager | undefined) | undefined;
  /**
   * Schemas by name, for producers and handlers. What does not fit is refused when it is scheduled.
   *
   * The handler gets what the schema makes of it: `{ 'order.close': z.object({ orderId: z.string() }) }`.
   *
   * @default {}
   * @range a schema by name
   * @see docs/api.md#payloads
   */
  payloads?: { readonly [N in DelayName]?: PayloadSchema<ParsedPayloadOf<N>> };
  /**
   * Encrypts or compresses what is stored of payloads. The same on all nodes.
   * @default undefined
   * @range `encode` and `decode`
   * @see docs/recipes/encrypted-payloads.md
   */
  codec?: PayloadCodec;
}

/** {@link DelayQueueOptions} checked, without gaps, all times in milliseconds. */
export interface ResolvedOptions {
  schema: string;
  /** Where the delays live, and which clock they go by: a test's own under `DelayTesting`. */
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
  /** `null`: no history. */
  historyKeepMs: number | null;
  historyKept: HistoryKept;
  drainTimeoutMs: number;
  payloadBytesMax: number;
  /** The first outside. */
  around: readonly AroundFunction[];
  enhancers: DelayEnhancers;
  resolveManager: (() => unknown) | undefined;
  /** Schemas and codec. */
  payloads: Payloads;
}

/** Injection token of {@link ResolvedOptions}. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-delay-queue:options');

/** Injection token of what `forRoot` or `forRootAsync` was given. */
export const GIVEN_OPTIONS = 'nestjs-delay-queue:given-options';

/** What stands beside the options of the queue: in `forRoot`, or beside the factory of `forRootAsync`. */
export const MODULE_EXTRAS = ['isGlobal', 'dataSource'];

/** How `forRootAsync` gets the options. */
const WAYS = ['useFactory', 'useClass', 'useExisting'];

const ASYNC_OPTIONS = [
  'imports',
  'inject',
  'provideInjectionTokensFrom',
  ...WAYS,
  ...MODULE_EXTRAS,
];

/**
 * What `forRoot` was given; the options of the queue are checked when it starts.
 *
 * @throws DelayConfigError naming the option
 */
export function checkModuleOptions(options: unknown): void {
  atStart('DelayQueueModule', () => checkIsGlobal(readOptions(options, 'options', MODULE_EXTRAS)));
}

/**
 * What `forRootAsync` was given.
 *
 * @throws DelayConfigError naming the option
 */
export function checkAsyncOptions(options: unknown): void {
  atStart('DelayQueueModule', () => {
    const given = checkKnownOptions(options, 'options', ASYNC_OPTIONS);
    checkIsGlobal(given);
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

function checkIsGlobal({ isGlobal = true }: Record<string, unknown>): void {
  if (typeof isGlobal === 'boolean') return;
  throw new DelayInvalidError('isGlobal', `must be true or false, not ${shown(isGlobal)}`);
}

/** Of the module, and as many of a handler. */
const AROUNDS_MAX = 20;

/**
 * One `around`, or a list of them, the first outside.
 *
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
  // Looked up at each call, so that a spy or a patch of the method takes effect.
  return (call, next) => value.around(call, next);
}

const hasAround = (value: unknown): value is { around: AroundFunction } =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'around') === 'function';
