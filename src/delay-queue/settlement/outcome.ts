import type { Retry } from '../store/wire/attempt-rows.js';

/** How an attempt ended, before anything is written about it. */
export type Outcome =
  | { kind: 'completed' }
  | { kind: 'failed'; error: unknown }
  /** Its batch failed: again at once, alone, and no attempt is spent. */
  | { kind: 'split'; error: unknown }
  | { kind: 'discarded'; reason: unknown }
  /** This node cannot read its payload: another one may. */
  | { kind: 'unreadable'; error: unknown }
  | { kind: 'postponed'; waitMs: number }
  /** Its handler was not called: given back, and no attempt is spent. */
  | { kind: 'unbegun'; error: unknown; waitMs: number }
  /** Given back at shutdown, or because another one of its batch was aborted. */
  | { kind: 'released' }
  /** It is being cancelled: given back, and no attempt is spent. */
  | { kind: 'aborted' }
  /** Another node may have the row: nothing may be written. */
  | { kind: 'lost' };

/** What ends an attempt whose delay stays, without the attempt's own id and epoch. */
export type Ending = Omit<Retry, 'id' | 'epoch'>;

/** No handler was called. */
export const GIVE_BACK: Ending = {
  waitMs: 0,
  movesDue: false,
  refund: 1,
  error: null,
  ends: 'unbegun',
};

/** @param waitMs until the next attempt; null: there is none, and it is a dead letter */
export const failed = (error: string, waitMs: number | null): Ending => ({
  waitMs,
  movesDue: false,
  refund: 0,
  error,
  ends: 'failed',
});

export const postponed = (waitMs: number): Ending => ({
  ...GIVE_BACK,
  waitMs,
  movesDue: true,
  ends: 'postponed',
});

export const RELEASED: Ending = { ...GIVE_BACK, ends: 'released' };

/**
 * So long an aborted delay waits for the cancel, so that no node runs it before. It is as it was when
 * none comes: the transaction was rolled back, or the process died.
 */
const ABORTED_REST_MS = 1_000;

export const ABORTED: Ending = { ...GIVE_BACK, waitMs: ABORTED_REST_MS, ends: 'aborted' };
