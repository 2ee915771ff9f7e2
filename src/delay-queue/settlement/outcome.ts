/** How an attempt ended, before anything is written about it. */
export type Outcome =
  | { kind: 'completed' }
  | { kind: 'failed'; error: unknown }
  /** Its batch failed: again at once, alone, and no attempt is spent. */
  | { kind: 'split'; error: unknown }
  | { kind: 'discarded'; reason: unknown }
  | { kind: 'postponed'; waitMs: number }
  /** Its handler was not called: given back, and no attempt is spent. */
  | { kind: 'unbegun'; error: unknown; waitMs: number }
  /** Given back at shutdown, or because another one of its batch was aborted. */
  | { kind: 'released' }
  /** Somebody cancels it: given back, and no attempt is spent. */
  | { kind: 'aborted' }
  /** Another node may have the row: nothing may be written. */
  | { kind: 'lost' };
