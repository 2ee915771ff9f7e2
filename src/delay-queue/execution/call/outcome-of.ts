import { meansDiscard, meansPostpone } from '../../delay/thrown-by-handlers.js';
import { parseDurationMs } from '../../validation/duration.js';
import type { Outcome } from '../../settlement/outcome.js';

/**
 * What is meant by something a handler threw, or said of one of its delays. Whatever it is: even
 * to ask can throw, on a revoked Proxy.
 *
 * @param closing the application is closing: to give up now costs no attempt
 */
export function outcomeOf(error: unknown, closing: boolean): Outcome {
  try {
    return meantBy(error, closing);
  } catch {
    return { kind: 'failed', error };
  }
}

function meantBy(error: unknown, closing: boolean): Outcome {
  if (meansDiscard(error)) return { kind: 'discarded', reason: error.reason };
  if (meansPostpone(error)) {
    try {
      return { kind: 'postponed', waitMs: parseDurationMs(error.after, 'after') };
    } catch (invalid) {
      return { kind: 'failed', error: invalid };
    }
  }
  return closing ? { kind: 'released' } : { kind: 'failed', error };
}

/**
 * A batch that failed is done again, each delay alone and none for an attempt: which of them was the cause is not
 * known. Nor is it known whom a `DiscardDelay` that the whole batch throws is for.
 */
export function eachOfBatch(outcome: Outcome): Outcome {
  if (outcome.kind === 'failed') return { kind: 'split', error: outcome.error };
  if (outcome.kind === 'discarded') return { kind: 'split', error: outcome.reason };
  return outcome;
}
