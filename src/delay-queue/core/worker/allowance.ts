import type { HandlerLimit } from '../handlers/handler-limits.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import type { NameState } from './name-state.js';

/** What one claim may ask for of one name. */
export interface Allowance {
  /** Calls that get a slot. */
  slots: number;
  /** Delays that are claimed before they have a slot. */
  prefetch: number;
  /** Free slots belong to prefetched calls: delays that may be prefetched get none. */
  isQueued: boolean;
  /** Calls that delays share. */
  batches: number;
  /** Delays, of all calls together. */
  delays: number;
  /**
   * What holds back the next delay: calls that run, a batch that is not full, a limit over all
   * nodes, too many overrunning handlers, or a claim in flight.
   */
  heldBy: 'slots' | 'pace' | 'throttle' | 'cool-down' | 'claim';
  /** Until when, if time alone ends that, on the clock of `pace` or `throttle`; else Infinity. */
  untilMs: number;
}

/** What is the same for all names of one claim. */
export interface ClaimTerms {
  /** `performance.now()` */
  nowMs: number;
  /** On the clock of throttles. */
  limitsNowMs: number;
  /** A claim under limits is in flight; a second one would take a group out of order. */
  isLimitedInFlight: boolean;
  /** Delays of one claim, at most. */
  claimBatch: number;
  /** It asks for something already. */
  isAsked: boolean;
}

/** How much of a name the next claim may ask for. Pure: it reads no clock and asks no queue. */
export function admission(name: NameState, terms: ClaimTerms): Allowance {
  const { concurrency, limits } = name.handler;
  if (limits !== null) {
    if (terms.isLimitedInFlight) return nothing('claim');
    const untilMs = name.throttledUntilMs('');
    if (untilMs > terms.limitsNowMs) return nothing('throttle', untilMs);
  }
  if (name.mustCoolDown) return nothing('cool-down');
  // Of two claims the second may be answered first, and what runs one at a time runs in order.
  if (concurrency === 1 && name.asked > 0) return nothing('claim');
  const slots = concurrency - name.running;
  const isShared = (name.handler.batch ?? 1) > 1;
  const batches = isShared ? batchesToBegin(name, terms.nowMs) : Infinity;
  const isPaced = batches < slots;
  return {
    slots,
    // Prefetched delays would take the slots for which stalled ones take turns.
    prefetch: name.stalledDue > 0 ? 0 : name.roomToPrefetch(terms.claimBatch, terms.isAsked),
    isQueued: concurrency === 1 && name.prefetched > 0,
    batches,
    delays: Math.min(
      terms.claimBatch,
      name.claimSize?.now ?? Infinity,
      limits === null ? Infinity : claimMost(limits.all),
    ),
    heldBy: isPaced ? 'pace' : 'slots',
    untilMs: isPaced ? nextBatchMs(name, batches, terms.nowMs) : Infinity,
  };
}

const nothing = (heldBy: Allowance['heldBy'], untilMs = Infinity): Allowance => ({
  slots: 0,
  prefetch: 0,
  isQueued: false,
  batches: 0,
  delays: 0,
  heldBy,
  untilMs,
});

/** What a claim can get at most under that limit. */
export const claimMost = ({ concurrency, burst }: HandlerLimit): number =>
  Math.min(concurrency || Infinity, burst || Infinity);

/** The first pause is between a name's first batch and its second, unless that one is full. */
const PAUSE: Growth = { firstMs: 5, factor: 2, lastMs: 1_000, jitter: 0 };

/**
 * Batches that may begin. The first never waits. Beside others a batch waits until it is full, or
 * until a pause has passed since the last one began: 5 ms beside one, doubled with each further
 * one, a second at most.
 *
 * Without a pause each millisecond of a burst would begin a call for its few delays, until all
 * slots are taken. No fixed pause fits handlers of milliseconds and of seconds. Doubled, it is about
 * as long as the first running call has taken already, so no delay waits out of proportion, and ten
 * slots of a slow handler last for 2.5 s at least.
 */
function batchesToBegin(name: NameState, nowMs: number): number {
  const full = Math.floor(name.due / (name.handler.batch ?? 1));
  return full === 0 && nextBatchMs(name, 0, nowMs) <= nowMs ? 1 : full;
}

/** When a batch that is not full may begin, after so many that begin now. */
function nextBatchMs({ batches, batchBeganAtMs }: NameState, more: number, nowMs: number): number {
  const lastMs = more > 0 ? nowMs : batchBeganAtMs;
  return batches + more === 0 ? -Infinity : lastMs + pauseMs(PAUSE, batches + more);
}
