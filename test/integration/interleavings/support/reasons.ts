import type { Evidence } from './audit.js';
import type { Call, Player } from './player.js';
import type { SeenRow } from './watch.js';
import { writes } from './verdicts.js';

/** Whether a committed row, or its absence, bears a verdict out. */
type Reason = (row: SeenRow | undefined, call: Call) => boolean;

const isLeased: Reason = (row) => row?.leasedBy != null;
const isGone: Reason = (row) => row === undefined;
const isFree: Reason = (row) => row !== undefined && row.lease !== 'live' && !row.dead;
const isAsked: Reason = (row, { asked }) => row?.id === asked?.id && row?.epoch === asked?.epoch;
const hasMoved: Reason = (row, call) => !isAsked(row, call);

/** Verdicts that write nothing; the others are borne out by what they wrote. */
const REASONS: { [verdict: string]: Reason } = {
  running: isLeased,
  kept: isFree,
  DELAY_CONFLICT: isFree,
  held: isAsked,
  lost: hasMoved,
  stale: hasMoved,
  missed: (row, call) => hasMoved(row, call) || row?.lease === 'live' || row?.due !== true,
  'found nothing': isGone,
  'found scheduled': isFree,
  'found retrying': isFree,
  'found running': isLeased,
  'found dead': (row) => row?.dead === true,
};

/** `absent` is no such row as the verb is for. */
const ABSENT: { [act: string]: Reason } = {
  cancel: isGone,
  reschedule: (row) => row === undefined || row.dead,
  retryDead: (row) => row?.dead !== true,
};

/** What a batch leaves alone because somebody's open transaction may have it. */
const SKIPS = new Set(['stale', 'missed']);

/**
 * Whether the verdict was true at some moment between the call and its answer; for a caller in
 * REPEATABLE READ, since its snapshot.
 */
export function isBorneOut({ views, keyOf }: Evidence, player: Player, call: Call): boolean {
  const { act, verdict, slot } = call;
  const reason = verdict === 'absent' ? ABSENT[act] : REASONS[verdict];
  // After a write of its own, a transaction sees what nobody else does.
  if (writes(call) || hasWritten(player, call)) return true;
  if (reason === undefined) return false;
  const since = player.actor.isolation === 'REPEATABLE READ' ? player.calls[0] : call;
  return views.slice(since?.from, call.until + 1).some(({ rows, open }) => {
    const held = SKIPS.has(verdict) && [...open].some((name) => name !== player.actor.name);
    return held || reason(rows.get(keyOf(slot)), call);
  });
}

const hasWritten = ({ calls, actor }: Player, call: Call): boolean =>
  actor.end !== undefined && calls.slice(0, calls.indexOf(call)).some(writes);
