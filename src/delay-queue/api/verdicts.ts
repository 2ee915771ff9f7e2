import type { InTransaction } from './delay.js';
import type { Duration } from './times.js';

/** Options of a cancel. */
export interface CancelOptions extends InTransaction {
  /**
   * What becomes of a delay that runs. `leave` (default): nothing, the verdict is `running`. `abort`: `ctx.signal` of
   * its attempt aborts, the transaction of a transactional one is rolled back, and the delay is cancelled when the
   * attempt has ended.
   */
  running?: 'leave' | 'abort';
  /** How long `abort` waits for that end, 1 ms to 1 h; then the verdict is `running`. Default `'5s'`. */
  abortWithin?: Duration;
}

/**
 * - `scheduled`: a new delay waits.
 * - `replaced`: the waiting delay of that key has the new payload and time.
 * - `kept`: the waiting delay of that key stays as it was (`onConflict: 'keep'`).
 * - `running`: an attempt of that key's delay holds the lease now; nothing was written.
 * - `rerun`: the same, and the key is due once more when that run has ended (`running: 'rerun'`).
 *
 * `id` and `dueAt` are those of the delay that stands in the table; of `rerun` the id is that of the delay that runs, and
 * `dueAt` when the key is due once more.
 */
export interface ScheduleResult {
  verdict: 'scheduled' | 'replaced' | 'kept' | 'running' | 'rerun';
  id: string;
  dueAt: Date;
}

/**
 * - `cancelled`: no attempt will start any more, and none can commit through the fence.
 * - `running`: an attempt holds the lease now; the business row decides. With `running: 'abort'` it was told to end, and
 *   did not within `abortWithin`.
 * - `absent`: there is no delay of that key.
 *
 * `rerunCancelled`: the key was to run once more after this run, and will not.
 */
export type CancelResult =
  | { verdict: 'cancelled'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date; rerunCancelled?: true }
  | { verdict: 'absent' };

/** Like {@link CancelResult}; a dead letter counts as `absent` (see `retryDead`). */
export type RescheduleResult =
  | { verdict: 'rescheduled'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date }
  | { verdict: 'absent' };

/** `retried`: the dead letter is due now, with all its attempts. `absent`: no dead letter of that key. */
export type RetryDeadResult =
  { verdict: 'retried'; id: string; dueAt: Date } | { verdict: 'absent' };

/** `discarded`: the dead letter is gone. `absent`: no dead letter of that key or id. */
export type DiscardDeadResult =
  { verdict: 'discarded'; id: string; dueAt: Date } | { verdict: 'absent' };

/**
 * - `due`: it waits no longer; `dueAt` is now, or was before.
 * - `running`: an attempt holds the lease now; nothing was written.
 * - `absent`: nothing waits under that key or id; a dead letter does not (see `retryDead`).
 */
export type RunNowResult =
  | { verdict: 'due'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date }
  | { verdict: 'absent' };
