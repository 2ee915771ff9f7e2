import type { Duration } from '../delay/duration.js';
import type { BackoffOptions, ExponentialBackoff } from './backoff.js';

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
  /** How long delays that ended are kept (1 s to 100 years), or `false`. Default `{ keep: '24h' }`. */
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
