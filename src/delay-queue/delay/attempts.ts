/**
 * How an attempt ended.
 *
 * - `completed`, `failed`. A dead letter's last one is `failed`, too.
 * - `postponed`: its handler threw `PostponeDelay`. `superseded`: it scheduled its own key anew.
 * - `split`: its batch failed, and each delay of it ran again alone.
 * - `released`: given back at shutdown. `aborted`: by `cancel(…, { running: 'abort' })`.
 * - `running`: it has not ended. `lost`: how it ended was not written down, for its process died or was paused.
 */
export type AttemptOutcome =
  | 'completed'
  | 'failed'
  | 'postponed'
  | 'superseded'
  | 'split'
  | 'released'
  | 'aborted'
  | 'running'
  | 'lost';

/** One attempt of a delay, of a module with `history: { attempts: true }`. Instants are of the database's clock. */
export interface DelayAttempt {
  /** Counted from 1. One that was given back is followed by one with the same number. */
  attempt: number;
  outcome: AttemptOutcome;
  node: string;
  /** When it was claimed: a moment before its handler was called. */
  startedAt: Date;
  /** When its end was written down, a moment after its handler was done; `null` for `running` and `lost`. */
  endedAt: Date | null;
  /** Of `failed` and `split`; its first 1,000 characters. */
  error: string | null;
}

/** What history keeps: nothing, a line for each end of a delay, or also each attempt. */
export type HistoryKept = 'nothing' | 'ends' | 'attempts';
