import type { EntityManager } from 'typeorm';
import type {
  DelayAround,
  DelayName,
  DelayTransaction,
  Duration,
  ParsedPayloadOf,
} from './delay.js';
import type { DelayTelemetry } from './telemetry.js';

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

/**
 * Pause after a failed attempt: `base * factor^(attempt - 1)`, at most `max`, less a random share.
 *
 * ```ts
 * { base: '1s', factor: 2, max: '5m', jitter: 0.2 } // 0.8–1 s, 1.6–2 s, 3.2–4 s … 4–5 min
 * ```
 */
export interface BackoffOptions {
  /** Pause after the first failed attempt. Default `'1s'`. */
  base?: Duration;
  /** Growth per attempt, 1 to 100. Default 2. */
  factor?: number;
  /** Longest pause. Default `'5m'`. */
  max?: Duration;
  /**
   * Random share of each pause, 0 to 1. Default 0.2: the last fifth is random. 1 is "full jitter",
   * the widest spread of a burst. It only shortens: `max` holds, and pauses at `max` spread, too.
   */
  jitter?: number;
}

/**
 * Pause after failed attempt number `attempt`, from 1, without jitter. If it throws or returns no
 * duration, that is logged and the module's `backoff` applies.
 */
export type BackoffFunction = (attempt: number) => Duration;

/**
 * Which of Nest's guards, interceptors, pipes and filters apply to handlers. `false`: none.
 * `'own'`: those of the handler's class and method. `'all'`: the application's, too.
 */
export type DelayEnhancers = false | 'own' | 'all';

/**
 * Schema of a payload: any [Standard Schema v1](https://standardschema.dev), as Zod, Valibot,
 * ArkType and others implement it. Only the part of the interface that is used here.
 */
export interface PayloadSchema<Parsed = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Parsed> | Promise<SchemaResult<Parsed>>;
  };
}

/** Result of a schema for a payload. */
export type SchemaResult<Parsed> =
  | { readonly value: Parsed; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A mismatch and its path. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Owner of a payload. A codec can authenticate both fields: they never change while it lives. */
export interface PayloadOwner {
  readonly name: string;
  readonly key: string | null;
}

/**
 * Turns payloads into stored text and back: encryption, compression.
 *
 * `decode` must read everything that `encode` ever wrote, also under older keys. Payloads stored
 * without a codec are read as they are, unless `strict`.
 */
export interface PayloadCodec {
  /** @param json the payload. @returns any text that Postgres can store */
  encode(json: string, owner: PayloadOwner): string | Promise<string>;
  /** @param encoded result of `encode`. @returns the same JSON */
  decode(encoded: string, owner: PayloadOwner): string | Promise<string>;
  /**
   * `true`: refuses payloads stored without the codec (`DELAY_CODEC`), so that a role that may
   * write rows cannot pass off its text as encrypted. Set it when none from before the codec is
   * left.
   * @default `false`: reads them as they are
   */
  readonly strict?: boolean;
}
