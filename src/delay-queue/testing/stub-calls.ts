import type { DelayHeaders, DelayName, OnConflict, PayloadOf } from '../core/index.js';

/** A call about one delay that the stub received, with parsed arguments. */
export interface StubCall {
  call: 'schedule' | 'cancel' | 'reschedule' | 'retryDead' | 'discardDead';
  name: string;
  key: string | null;
  /** The transaction that the call named as `manager` or `tx`; undefined: none. */
  manager: unknown;
  /** The verdict of the call; undefined if it threw. */
  verdict: string | undefined;
}

/** A call that schedules one delay; each item of `scheduleMany` is one. */
export interface StubScheduled<N extends DelayName = DelayName> extends StubCall {
  call: 'schedule';
  name: N;
  payload: PayloadOf<N>;
  /** In milliseconds; null beside `at`. */
  after: number | null;
  at: Date | null;
  onConflict: OnConflict;
  maxAttempts: number | null;
  group: string | null;
  headers: DelayHeaders;
}

/** An answer that a test can choose for the next call. */
export type StubAnswer =
  | 'scheduled'
  | 'replaced'
  | 'kept'
  | 'running'
  | 'cancelled'
  | 'rescheduled'
  | 'retried'
  | 'discarded'
  | 'absent'
  | Error;
