import { DelayError, type DelayName, type PayloadOf } from '../core/index.js';

/**
 * How an attempt ended.
 *
 * - `completed`: it succeeded, and the delay is gone, or goes on if it recurs.
 * - `superseded`: it succeeded, and its handler had rescheduled the same key, which waits.
 * - `retrying`: it failed, and waits for its next attempt.
 * - `dead`: it failed for good, and is a dead letter.
 * - `postponed`: `PostponeDelay`; it waits again.
 * - `split`: its batch failed; it is due again, alone.
 * - `lost`: its lease had ended, or its row was changed by force; the result was ignored.
 * - `released`: the application closed.
 * - `aborted`: a cancel with `running: 'abort'` ended it.
 */
export type RunOutcome =
  | 'completed'
  | 'superseded'
  | 'retrying'
  | 'dead'
  | 'postponed'
  | 'split'
  | 'lost'
  | 'released'
  | 'aborted';

/** One attempt that `DelayTesting` ran. */
export type DelayRun<N extends DelayName = DelayName> = {
  [K in N]: {
    id: string;
    name: K;
    key: string | null;
    payload: PayloadOf<K>;
    /** Counted from 1. */
    attempt: number;
    outcome: RunOutcome;
    /** Its error, as the row stores it; null if it did not fail. */
    error: string | null;
    /** When it ran, on the test's clock. */
    at: Date;
    /** How much time the call had let pass, in milliseconds; 0 for what was due when it began. */
    travelledMs: number;
  };
}[N];

/**
 * Tests only: `DelayTesting`, or the stand-in for unit tests, cannot do this now. The message says
 * why, and what to do.
 * @see docs/testing.md
 */
export class DelayTestingError extends DelayError {
  readonly code = 'DELAY_TESTING';
  protected static override readonly hasLines = true;
}
