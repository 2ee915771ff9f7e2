import type { Retry } from '../store/wire/attempt-rows.js';

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
 * So long an aborted delay waits for whoever cancels it, so that no node runs it again before. It is as it was when
 * nobody does: because his transaction was rolled back, or his process died.
 */
const ABORTED_REST_MS = 1_000;

export const ABORTED: Ending = { ...GIVE_BACK, waitMs: ABORTED_REST_MS, ends: 'aborted' };
