import type { DelayName, PayloadOf } from '../api/delay.js';
import { DelayError } from '../api/errors.js';

/**
 * How an attempt ended.
 *
 * - `completed`: well, and the delay is gone, or goes on when it recurs.
 * - `superseded`: well, and its handler had scheduled its own key: that waits.
 * - `retrying`: it failed, and waits for its next attempt.
 * - `dead`: it failed for good, and is a dead letter.
 * - `postponed`: `PostponeDelay`; it waits again.
 * - `split`: its batch failed; it is due again, alone.
 * - `lost`: its lease was over, or its row was changed by force; the result was ignored.
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

/** One attempt that `DelayTesting` has run. */
export type DelayRun<N extends DelayName = DelayName> = {
  [K in N]: {
    id: string;
    name: K;
    key: string | null;
    payload: PayloadOf<K>;
    /** Counted from 1. */
    attempt: number;
    outcome: RunOutcome;
    /** What failed it, as the row keeps it; null when nothing did. */
    error: string | null;
    /** When it ran, on the clock of the test. */
    at: Date;
    /** How far the call had gone in time, in milliseconds; 0 for what was due when it began. */
    travelledMs: number;
  };
}[N];

/**
 * In tests alone: `DelayTesting`, or the stand-in for unit tests, cannot do that now. The message says why, and what to do.
 * @see docs/testing.md
 */
export class DelayTestingError extends DelayError {
  readonly code = 'DELAY_TESTING';
  protected static override readonly hasLines = true;
}
