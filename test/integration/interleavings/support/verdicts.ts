import type { Call, Player } from './player.js';
import type { Write } from './write-log.js';

/** What must have been written for a verdict to be true. All others leave everything as it was. */
const WRITES: { [verdict: string]: Write['kind'][] } = {
  scheduled: ['insert', 'move'],
  replaced: ['move'],
  rescheduled: ['move'],
  retried: ['move'],
  cancelled: ['delete'],
  claimed: ['claim'],
  completed: ['delete'],
  failed: ['move'],
  renewed: ['lease'],
  expired: ['lease'],
};

export const writes = ({ verdict }: Call): boolean => verdict in WRITES;

export const wrote = ({ verdict }: Call, { kind }: Write): boolean =>
  WRITES[verdict]?.includes(kind) === true;

/** The calls of a player that changed something for good. */
export function committed({ actor, refused, calls }: Player): Call[] {
  const undone = actor.end === 'rollback' || (actor.end !== undefined && refused !== undefined);
  return undone ? [] : calls.filter(writes);
}

/** For a fault's description. */
export const told = ({ actor, act, verdict }: Call): string =>
  `${actor.name}'s ${act} (${verdict})`;
