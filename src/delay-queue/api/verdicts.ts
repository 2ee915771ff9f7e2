import type { InTransaction } from './delay.js';
import type { Duration } from './times.js';

/** Options of a cancel. */
export interface CancelOptions extends InTransaction {
  /**
   * What happens to a delay that runs. `leave` (default) returns `running`. `abort` aborts
   * `ctx.signal`, rolls back a transactional attempt, and cancels the delay when the attempt has
   * ended.
   */
  running?: 'leave' | 'abort';
  /** How long `abort` waits for that, 1 ms to 1 h; then it returns `running`. Default `'5s'`. */
  abortWithin?: Duration;
}

/**
 * - `scheduled`: a new delay waits.
 * - `replaced`: the waiting delay of that key got the new payload and time.
 * - `kept`: the waiting delay of that key is unchanged (`onConflict: 'keep'`).
 * - `running`: an attempt holds the delay of that key; nothing was written.
 * - `rerun`: as `running`, but the key is due once more after this run (`running: 'rerun'`).
 *
 * `id` and `dueAt` are those of the delay in the table. For `rerun`, `id` is the running delay's,
 * and `dueAt` is when the key is due once more.
 */
export interface ScheduleResult {
  verdict: 'scheduled' | 'replaced' | 'kept' | 'running' | 'rerun';
  id: string;
  dueAt: Date;
}

/**
 * - `cancelled`: no attempt starts any more, and none can commit through the fence.
 * - `running`: an attempt holds the delay; the business row decides. With `running: 'abort'`, the
 *   attempt did not end within `abortWithin`.
 * - `absent`: no delay has that key.
 *
 * `rerunCancelled`: the key was due once more after this run, and no longer is.
 */
export type CancelResult =
  | { verdict: 'cancelled'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date; rerunCancelled?: true }
  | { verdict: 'absent' };

/** Like {@link CancelResult}, but a dead letter counts as `absent` (see `retryDead`). */
export type RescheduleResult =
  | { verdict: 'rescheduled'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date }
  | { verdict: 'absent' };

/** `retried`: the dead letter is due now, with all attempts. `absent`: that key has none. */
export type RetryDeadResult =
  { verdict: 'retried'; id: string; dueAt: Date } | { verdict: 'absent' };

/** `discarded`: the dead letter is gone. `absent`: that key or id has none. */
export type DiscardDeadResult =
  { verdict: 'discarded'; id: string; dueAt: Date } | { verdict: 'absent' };

/**
 * - `due`: it no longer waits. `dueAt` is now, or earlier if it was due already.
 * - `running`: an attempt holds the delay; nothing was written.
 * - `absent`: no delay waits under that key or id. Dead letters do not count (see `retryDead`).
 */
export type RunNowResult =
  | { verdict: 'due'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date }
  | { verdict: 'absent' };
