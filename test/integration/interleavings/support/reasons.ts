import { type CallersWrite, type RowState, VERDICTS } from '../../../support/state-machine.js';
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

/** The states in which that row may be; a session may be removing one whose lease is over. */
function statesOf(row: SeenRow | undefined): RowState[] {
  if (row === undefined) return ['none'];
  if (row.dead) return ['dead'];
  if (row.lease === 'live') return ['running'];
  return row.leasedBy !== null
    ? ['lease over', 'lease over, being removed']
    : ['scheduled', 'retrying'];
}

/** What a caller's act is in the document; one of many items is a schedule of some kind. */
const ofCallers = (act: string): CallersWrite[] =>
  act in VERDICTS.none ? [act as CallersWrite] : ['replace', 'keep', 'error'];

/** Whether the document says so. */
const isAnswered = (row: SeenRow | undefined, { act, verdict }: Call): boolean =>
  statesOf(row).some((state) => ofCallers(act).some((write) => VERDICTS[state][write] === verdict));

/** What else writes nothing; the others are borne out by what they wrote. */
const REASONS: { [verdict: string]: Reason } = {
  lost: hasMoved,
  held: () => false,
  // Of the order; `audit.ts` compares what is left of it.
  paid: () => true,
  closed: () => true,
  'not open': () => true,
  stale: hasMoved,
  missed: (row, call) => hasMoved(row, call) || row?.lease === 'live' || row?.due !== true,
  'found nothing': isGone,
  'found scheduled': isFree,
  'found retrying': isFree,
  'found running': isLeased,
  'found dead': (row) => row?.dead === true,
};

/** What a batch leaves alone, and a removal gives up, because an open transaction may have it. */
const SKIPS = new Set(['stale', 'missed', 'held']);

/**
 * Whether the verdict was true at some moment between the call and its answer; for a caller in
 * REPEATABLE READ, since its snapshot.
 */
export function isBorneOut({ views, keyOf }: Evidence, player: Player, call: Call): boolean {
  const { verdict, slot } = call;
  const reason = REASONS[verdict] ?? isAnswered;
  // After a write of its own, a transaction sees what nobody else does.
  if (writes(call) || hasWritten(player, call)) return true;
  const since = player.actor.isolation === 'REPEATABLE READ' ? player.calls[0] : call;
  return views.slice(since?.from, call.until + 1).some(({ rows, open }) => {
    const held = SKIPS.has(verdict) && [...open].some((name) => name !== player.actor.name);
    return held || reason(rows.get(keyOf(slot)), call);
  });
}

const hasWritten = ({ calls, actor }: Player, call: Call): boolean =>
  actor.end !== undefined && calls.slice(0, calls.indexOf(call)).some(writes);
