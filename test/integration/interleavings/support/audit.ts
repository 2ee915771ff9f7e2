import { isBorneOut } from './reasons.js';
import type { Call, Player } from './player.js';
import type { View } from './stepper.js';
import { committed, told, wrote } from './verdicts.js';
import type { Ended, Order, Write } from './watch.js';

/** All that is known of one interleaving when it is over. */
export interface Evidence {
  players: readonly Player[];
  views: readonly View[];
  writes: readonly Write[];
  ended: readonly Ended[];
  orders: readonly Order[];
  keyOf: (slot: string) => string;
}

/** What is wrong with an interleaving, in words; empty when nothing is. */
export function faultsOf(evidence: Evidence): string[] {
  const { players } = evidence;
  const faults = players.flatMap((player) => [
    ...refusals(player),
    ...wrongWrites(evidence, player),
    ...player.calls.flatMap((call) => [
      ...wrongWaits(evidence, call),
      ...brokenRemoval(evidence, player, call),
      ...(isBorneOut(evidence, player, call) ? [] : [`nothing bears out ${told(call)}`]),
    ]),
  ]);
  return faults.length > 0 ? faults : [...wrongHistory(evidence), ...wrongOrders(evidence)];
}

/** Only a caller with a snapshot, or with two keys in an order of its own, may be refused. */
function refusals({ actor, refused }: Player): string[] {
  if (refused === undefined || refused === actor.mayHear) return [];
  return [`${actor.name} was refused with ${refused}`];
}

/** In the order of the calls: one statement about many keys may write them in any. */
const writesOf = ({ writes, keyOf }: Evidence, player: Player): Write[] => {
  const own = writes.filter(({ pid }) => pid === player.session.pid);
  const inOrder = committed(player).map(({ slot }) => {
    const index = own.findIndex(({ key }) => key === keyOf(slot));
    return index < 0 ? [] : own.splice(index, 1);
  });
  return [...inOrder.flat(), ...own];
};

/** Every write has its verdict, every verdict its write, and each of them was allowed. */
function wrongWrites(evidence: Evidence, player: Player): string[] {
  const writes = writesOf(evidence, player);
  const calls = committed(player);
  if (writes.length !== calls.length) {
    const { name } = player.actor;
    return [`${name} wrote ${writes.length} times and says so ${calls.length} times`];
  }
  return calls.flatMap((call, index) => {
    const write = writes[index] as Write;
    const fits = wrote(call, write) && write.key === evidence.keyOf(call.slot);
    if (fits && isAllowed(write, call)) return [];
    return [`${told(call)} ${fits ? 'was not free to' : 'wrote'} ${JSON.stringify(write)}`];
  });
}

function isAllowed(write: Write, call: Call): boolean {
  const { kind, was, now } = write;
  if (was !== null && now !== null && kind !== 'lease' && now.epoch !== was.epoch + 1) return false;
  if (call.actor.kind === 'time') return true;
  return call.actor.kind === 'caller' ? isCallers(write, call) : isNodes(write, call);
}

/** A caller writes what no live lease is on, and leaves a row that nobody holds. */
function isCallers({ was, now }: Write, { verdict }: Call): boolean {
  if (was?.live) return false;
  if (now !== null && (now.leased_by !== null || now.attempts !== 0)) return false;
  if (was === null || verdict === 'cancelled') return true;
  return was.dead === (verdict === 'scheduled' || verdict === 'retried');
}

/** A node writes under the epoch it asked for: a claim what is due and free, the rest its own. */
function isNodes({ kind, was, now }: Write, { actor, asked }: Call): boolean {
  if (was?.epoch !== asked?.epoch || was?.id !== asked?.id) return false;
  if (kind === 'claim') return was?.live === false && was.due && now?.leased_by === actor.nodeName;
  return (
    was?.leased_by === actor.nodeName &&
    (now === null || (now.leased_by !== null) === (kind === 'lease'))
  );
}

/**
 * A batch of the engine waits for nobody. A caller never waits for an attempt: only for a row that
 * no lease is on, or a key that somebody is about to take.
 */
function wrongWaits({ views, keyOf }: Evidence, call: Call): string[] {
  const { actor, act, slot, waits } = call;
  if (waits.length === 0 || actor.kind === 'time' || OF_ORDERS.has(act)) return [];
  const rows = waits.map((index) => views[index]?.rows.get(keyOf(slot)));
  const leased = rows.some((row) => row?.leasedBy != null);
  if (actor.kind === 'caller' && !leased) return [];
  // For the one who writes to its row when the lease is over.
  if (act === 'remove' && rows.every((row) => row?.lease !== 'live')) return [];
  return [`${told(call)} waited${leased ? ' for a leased row' : ''}`];
}

/** Between a removal and the end of its transaction, the row stands still for all others. */
function brokenRemoval({ views, keyOf }: Evidence, player: Player, call: Call): string[] {
  if (call.act !== 'remove' || call.verdict !== 'completed') return [];
  const during = views.slice(call.until, player.endedAt);
  const moved = during.some(({ rows }) => rows.get(keyOf(call.slot))?.epoch !== call.asked?.epoch);
  return moved ? [`another got past the removal of ${player.actor.name}`] : [];
}

const OF_ORDERS = new Set(['close', 'pay']);

/** An order is closed by the attempt that has removed its delay, and by no other. */
function wrongOrders({ players, orders, keyOf }: Evidence): string[] {
  const kept = players.filter(
    ({ actor, refused, calls }) =>
      actor.end !== 'rollback' &&
      refused === undefined &&
      calls.every(({ verdict }) => verdict !== 'lost' && verdict !== 'held'),
  );
  const wanted = kept
    .flatMap(({ calls }) => calls.filter(({ verdict }) => ['closed', 'paid'].includes(verdict)))
    .map(({ slot, verdict }) => `${keyOf(slot)} ${verdict}`);
  const found = orders.map(({ key, status }) => `${key} ${status}`);
  const [are, should] = [found.join(', '), wanted.join(', ')];
  return are === should ? [] : [`orders are [${are}] and not [${should}]`];
}

/** One line of history for each end, and none for what did not happen. */
function wrongHistory(evidence: Evidence): string[] {
  const wanted = evidence.players.flatMap((player) => {
    const writes = writesOf(evidence, player);
    return committed(player).flatMap((call, index) => endsOf(call, writes[index] as Write));
  });
  const found = evidence.ended.map(({ key, state }) => `${key} ${state}`);
  const [says, should] = [found.toSorted().join(', '), wanted.toSorted().join(', ')];
  return says === should ? [] : [`history says [${says}] and not [${should}]`];
}

function endsOf({ actor, verdict }: Call, { kind, key, was }: Write): string[] {
  if (kind === 'delete' && actor.kind === 'node') return [`${key} completed`];
  const discarded = was?.dead && (kind === 'delete' || verdict === 'scheduled');
  if (discarded) return [`${key} discarded`];
  return kind === 'delete' ? [`${key} cancelled`] : [];
}
