import type { DelayAttemptMessage, DelayChannelMap } from './channels.js';
import type { DelayHeaders } from './delay.js';
import type { DelayFigures, HealthReason } from './health.js';

/** The calls of `DelayService` that have a channel. */
export type TracedOperations = Pick<DelayChannelMap, 'schedule' | 'cancel' | 'reschedule'>;

/** A node of this process, as the option `telemetry` sees it. */
export interface ObservedNode {
  name: string;
  /** The figures of `DelayHealth`, without a statement: the backlog is the one fetched last. */
  figures(): DelayFigures;
  /** Why it is not `up`, as `DelayHealth.check` says, without a statement. */
  reasons(): HealthReason[];
  /** Has fetched what both lack: the backlog at most once in five seconds. */
  refresh(): void;
}

/**
 * The option `telemetry`: what `openTelemetry()` of `nestjs-delay-queue/opentelemetry` returns. The
 * channels tell how calls and attempts end; this runs them in a context, and carries that along.
 */
export interface DelayTelemetry {
  /** Asked when a node is ready. @returns why nothing will be recorded, if that is known */
  advice?(): string | undefined;
  /** A node starts. @returns what to call when it has stopped */
  observe(node: ObservedNode): () => void;
  /**
   * Runs a call of `DelayService`.
   * @param run makes the call; call it once. A `schedule` stores the headers beside those of the
   * caller, which come first if there is no room for all
   */
  runCall<Operation extends keyof TracedOperations, Result>(
    operation: Operation,
    message: TracedOperations[Operation],
    run: (headers?: DelayHeaders) => Result,
  ): Result;
  /**
   * Runs the handler of one delay, or of a batch.
   * @param run calls it; call it once
   */
  runAttempts<Result>(messages: readonly DelayAttemptMessage[], run: () => Result): Result;
}
