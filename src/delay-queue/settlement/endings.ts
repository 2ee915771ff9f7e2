import type { Retry } from '../store/wire/attempt-rows.js';

/** What ends an attempt whose delay stays, without the attempt's own id and epoch. */
export type Ending = Omit<Retry, 'id' | 'epoch'>;

export const GIVE_BACK: Ending = { waitMs: 0, movesDue: false, refund: 1, error: null };

/**
 * So long an aborted delay waits for whoever cancels it, so that no node runs it again before. It is as it was when
 * nobody does: because his transaction was rolled back, or his process died.
 */
const ABORTED_REST_MS = 1_000;

export const ABORTED: Ending = { ...GIVE_BACK, waitMs: ABORTED_REST_MS };
