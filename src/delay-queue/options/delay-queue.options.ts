import type { EntityManager } from 'typeorm';
import type { HistoryKept } from '../delay/attempts.js';
import type { AroundFunction, DelayAround } from '../delay/contexts.js';
import type { DelayName, ParsedPayloadOf } from '../delay/delay.js';
import type { Duration } from '../delay/time/duration.js';
import type { PayloadCodec } from '../payloads/payload-codec.js';
import type { PayloadSchema } from '../payloads/payload-schema.js';
import type { Payloads } from '../payloads/payloads.js';
import type { BackoffOptions, ExponentialBackoff } from './backoff.js';
import type { DelayEnhancers } from './enhancers.js';

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
