import { meansDiscard, meansPostpone } from '../../delay/thrown-by-handlers.js';
import { parseDurationMs } from '../../validation/duration.js';
import type { Outcome } from '../../settlement/outcome.js';

/** Why a handler that fails now loses no attempt, as the outcome that it then has. */
export type Stopping = 'released' | 'aborted';

/**
 * No attempt is spent, so nothing else ends a handler that postpones by nothing whenever it is called: it was called 600
 * times a second.
 */
const POSTPONED_MS_MIN = 100;

/**
 * What is meant by something a handler threw, or said of one of its delays. Whatever it is: even
 * to ask can throw, on a revoked Proxy.
 *
 * @param stopping why to give up now costs no attempt, if so
 */
export function outcomeOf(error: unknown, stopping: Stopping | undefined): Outcome {
  try {
    return meantBy(error, stopping);
  } catch {
    return { kind: 'failed', error };
  }
}

/**
 * What is meant by something that came of reading a payload. This version of the application may not know its shape, or
 * not have its key, while another one does.
 */
export function outcomeOfReading(error: unknown, stopping: Stopping | undefined): Outcome {
  const outcome = outcomeOf(error, stopping);
  return outcome.kind === 'failed' ? { kind: 'unreadable', error: outcome.error } : outcome;
}

function meantBy(error: unknown, stopping: Stopping | undefined): Outcome {
  if (meansDiscard(error)) return { kind: 'discarded', reason: error.reason };
  if (meansPostpone(error)) {
    try {
      const waitMs = Math.max(POSTPONED_MS_MIN, parseDurationMs(error.after, 'after'));
      return { kind: 'postponed', waitMs };
    } catch (invalid) {
      return { kind: 'failed', error: invalid };
    }
  }
  return stopping === undefined ? { kind: 'failed', error } : { kind: stopping };
}

/**
 * A batch that failed is done again, each delay alone and none for an attempt: which of them was the cause is not
 * known. Nor is it known whom a `DiscardDelay` that the whole batch throws is for.
 */
export function eachOfBatch(outcome: Outcome): Outcome {
  if (outcome.kind === 'failed' || outcome.kind === 'unreadable') {
    return { kind: 'split', error: outcome.error };
  }
  if (outcome.kind === 'discarded') return { kind: 'split', error: outcome.reason };
  return outcome;
}
