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
