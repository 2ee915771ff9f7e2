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

/**
 * What moved the due time of a delay that goes on.
 *
 * - `reschedule`: `reschedule` or `rescheduleMany`, of `DelayService` or `DelayAdmin`.
 * - `postpone`: its handler threw `PostponeDelay`.
 * - `runNow`, `retryDead`: the calls of that name.
 * - `declaration`: a `@RepeatDelay` that recurs in another way than before.
 */
export type MoveCall = 'reschedule' | 'postpone' | 'runNow' | 'retryDead' | 'declaration';

/** One move of a delay's due time. Instants are of the database's clock. */
export interface DelayMove {
  call: MoveCall;
  /** When it was moved. */
  at: Date;
  from: Date;
  to: Date;
}

/**
 * What a live delay waits for, as far as the database knows. Where several hold it back, the strongest is told, in this
 * order: its own time (`due`, `retry`) or the attempt that runs, a pause, a node that is missing, a limit, and only then its
 * turn. So a delay that is paused and limited waits for the pause, and one whose time has not come for its time. `until` is
 * null where only a change ends it.
 */
export type DelayWait =
  /** Its time has not come: that of its next attempt with `retry`. */
  | { what: 'due' | 'retry'; until: Date }
  /** It runs on that node, which holds it until then at least. */
  | { what: 'attempt'; node: string; until: Date }
  /** It is due, and its name or its group is paused. Of two pauses the one that ends last. */
  | { what: 'pause'; group: string | null; reason: string | null; since: Date; until: Date | null }
  /** It is due, and no live node serves its name. */
  | { what: 'node'; since: Date }
  /**
   * It is due, and a limit of its name (group: null) or of its group is used up: since when each claim has found it so,
   * and until when by its rate; null: until an attempt ends. Of two limits that of the name.
   */
  | { what: 'limit'; group: string | null; since: Date; until: Date | null }
  /** It is due, and nothing above holds it: the next free place of its handlers, or they are slow or hang. */
  | { what: 'turn'; since: Date };
