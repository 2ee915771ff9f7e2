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
  /** Schema of the library's tables: 1 to 48 of `a-z 0-9 _`. Default `'delay_queue'`. */
  schema?: string;
  /**
   * `false`: this node only schedules and runs no handlers. `'manual'`: it runs them when `DelayTesting` says so, and
   * nothing by itself: for tests. Default `true`.
   */
  worker?: boolean | 'manual';
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
   * How long a claim holds. If a process dies while a delay runs, the delay comes so much later.
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
  /**
   * How long delays that ended are kept (1 s to 100 years), or `false`. With `attempts` each attempt is kept, too: when it
   * began and ended, where, and how. Default `{ keep: '24h', attempts: false }`.
   */
  history?: false | { keep?: Duration; attempts?: boolean };
  /** How long a shutdown waits for handlers in flight, 0 to 1 h. Default `'20s'`. */
  drainTimeout?: Duration;
  /** Largest payload, as `jsonb` writes its JSON, in UTF-8: 2 bytes to 1 MiB. Default 65,536. */
  payloadBytesMax?: number;
  /** Runs around each call of a handler: tracing, contexts, tenants. Of a list the first is outside. Default none. */
  around?: DelayAround | readonly DelayAround[];
  /**
   * Nest's guards, interceptors, pipes and filters around the calls of handlers. `'own'`: those that a handler's class
   * and method name. `'all'`: the application's, too; they have to know what a delay is (`delayCallOf`). Default `false`:
   * none, for a global guard that asks who is logged in would fail every attempt.
   */
  enhancers?: DelayEnhancers;
  /**
   * Finds the surrounding transaction, for calls that are made without `manager`: of `@nestjs-cls/transactional`
   * `() => transactionHost.tx`. A manager without an active transaction counts as none. `manager: 'own'` stays outside.
   * Inside a transactional handler it is not asked. Default none: no call joins a transaction that it does not name.
   */
  resolveManager?: (() => EntityManager | undefined) | undefined;
  /**
   * Schemas by name, for producers and handlers: `{ 'order.close': z.object({ orderId: z.string() }) }`. What does not fit
   * is refused when it is scheduled. The handler gets what the schema makes of it. Default none.
   */
  payloads?: { readonly [N in DelayName]?: PayloadSchema<ParsedPayloadOf<N>> };
  /** Encrypts or compresses what is stored of payloads. The same on all nodes. Default none. */
  codec?: PayloadCodec;
}

/** {@link DelayQueueOptions} checked, without gaps, all times in milliseconds. */
export interface ResolvedOptions {
  schema: string;
  worker: boolean | 'manual';
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
