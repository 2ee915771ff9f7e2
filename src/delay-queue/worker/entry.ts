import type { Wake } from '../store/rows/delay-rows.js';

/**
 * Where a wake is known from. `confirmed`: a row says so, or the commit of our own that wrote it. `hinted`: a hint,
 * or a commit of which a part may have been rolled back.
 */
export type Source = 'confirmed' | 'hinted';

/**
 * A wake this node keeps an eye on: waiting in the wheel, due when it came and told of in the next
 * turn, ready, or being claimed.
 */
export interface Entry extends Wake {
  state: 'wheel' | 'due' | 'ready' | 'claiming' | 'gone';
  handle: number;
  /** Claims in a row that found it locked or early. */
  timesNotClaimed: number;
  /** A claim that asked for it failed: the next one asks for no more than so many. */
  claimedWithin?: number | undefined;
  /** It was not read from a row here: there may never have been one. */
  hinted: boolean;
  /** Of the scanner's walk that brought it, in the order of wakes; 0: something else did. */
  scanNo: number;
  /** What came of a later epoch while its claim was under way. */
  later?: [wake: Wake, source: Source] | undefined;
}

/** @param handle of the wheel, if it stands there */
export const entryOf = (
  { id, epoch, name, group, wakeMs, stalled, failed, orphaned = false }: Wake,
  state: Entry['state'],
  handle: number,
  hinted: boolean,
  scanNo: number,
): Entry => ({
  // Written out: a copy by spreading costs as much as all else that is done for an entry.
  id,
  epoch,
  name,
  group,
  wakeMs,
  stalled,
  failed,
  orphaned,
  state,
  handle,
  timesNotClaimed: 0,
  claimedWithin: undefined,
  hinted,
  scanNo,
  later: undefined,
});

/**
 * Whether a wake says more of a row than what is known of it. A row that says less than an entry that was only
 * told is an old page, or that entry never was: to look earlier does no harm.
 */
export function isBetter(wake: Wake, isTold: boolean, known: Entry): boolean {
  const isSooner = wake.wakeMs < known.wakeMs;
  // What was found without its process keeps its time and its turn, whatever other pages say: the claim looks again.
  if (known.orphaned && wake.epoch === known.epoch) return isSooner;
  if (wake.epoch < known.epoch) return known.hinted && isSooner;
  return isTold ? isSooner : true;
}
