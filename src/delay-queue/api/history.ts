/**
 * How an attempt ended.
 *
 * - `completed`, `failed`. The last attempt of a dead letter is `failed`, too.
 * - `postponed`: its handler threw `PostponeDelay`. `superseded`: it rescheduled its own key.
 * - `split`: its batch failed, and each delay of the batch ran again alone.
 * - `released`: given back at shutdown. `aborted`: by `cancel(…, { running: 'abort' })`.
 * - `running`: not ended. `lost`: no outcome was written, because its process died or was paused.
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

/** One attempt, recorded by `history: { attempts: true }`. Instants are on the database's clock. */
export interface DelayAttempt {
  /** Counted from 1. The attempt after one that was given back has the same number. */
  attempt: number;
  outcome: AttemptOutcome;
  node: string;
  /** When it was claimed, shortly before its handler was called. */
  startedAt: Date;
  /** When its outcome was written, shortly after its handler ended; `null` while unknown. */
  endedAt: Date | null;
  /** For `failed` and `split`: the first 1,000 characters. */
  error: string | null;
}

/** What history keeps: nothing, one entry for each ended delay, or each attempt as well. */
export type HistoryKept = 'nothing' | 'ends' | 'attempts';

/**
 * What moved the due time of a live delay.
 *
 * - `reschedule`: `reschedule` or `rescheduleMany`, of `DelayService` or `DelayAdmin`.
 * - `postpone`: its handler threw `PostponeDelay`.
 * - `runNow`, `retryDead`: the calls of that name.
 * - `declaration`: a `@RepeatDelay` with a changed schedule.
 */
export type MoveCall = 'reschedule' | 'postpone' | 'runNow' | 'retryDead' | 'declaration';

/** One move of a delay's due time. Instants are on the database's clock. */
export interface DelayMove {
  call: MoveCall;
  /** When the move happened. */
  at: Date;
  from: Date;
  to: Date;
}

/**
 * What a live delay waits for, as the database knows it. The first of several causes counts: its
 * time (`due`, `retry`) or a running attempt, a pause, a missing node, a limit, its turn. So a
 * delay that is paused and throttled waits for the pause. `until` is null if only a change ends the
 * wait.
 */
export type DelayWait =
  /** Its time has not come; with `retry`, the time of its next attempt. */
  | { what: 'due' | 'retry'; until: Date }
  /** An attempt runs on that node, which holds the delay at least until then. */
  | { what: 'attempt'; node: string; until: Date }
  /** It is due, and its name or group is paused. Of two pauses, the one that ends last. */
  | { what: 'pause'; group: string | null; reason: string | null; since: Date; until: Date | null }
  /** It is due, and no live node serves its name. */
  | { what: 'node'; since: Date }
  /**
   * It is due, and a limit is full: that of its name (`group: null`), otherwise that of its group.
   * `since`: from when every claim found it full. `until`: when its rate allows more; `null`: when
   * an attempt ends.
   */
  | { what: 'limit'; group: string | null; since: Date; until: Date | null }
  /** It is due, and no cause above applies: its handlers are busy, slow or hanging. */
  | { what: 'turn'; since: Date };
