import {
  type Write as StateWrite,
  WRITES as STATE_WRITES,
} from '../../../support/state-machine.js';
import type { Call, Player } from './player.js';
import type { Write } from './watch.js';

/** How the log of writes calls them. */
const kindOf = ({ epoch, attempts }: StateWrite): Write['kind'] => {
  if (epoch === 'new') return 'insert';
  if (epoch === 'gone') return 'delete';
  if (epoch === 'stays') return 'lease';
  return attempts === 'one more' ? 'claim' : 'move';
};

/** What must have been written for a verdict to be true. All others leave everything as it was. */
const WRITES = new Map<string, Set<Write['kind']>>([
  // Stands for the passing of time.
  ['expired', new Set(['lease'])],
]);
for (const write of Object.values(STATE_WRITES)) {
  for (const verdict of write.verdicts) {
    WRITES.set(verdict, new Set([...(WRITES.get(verdict) ?? []), kindOf(write)]));
  }
}

export const writes = ({ verdict }: Call): boolean => WRITES.has(verdict);

export const wrote = ({ verdict }: Call, { kind }: Write): boolean =>
  WRITES.get(verdict)?.has(kind) === true;

/** The calls of a player that changed something for good. */
export function committed({ actor, refused, calls }: Player): Call[] {
  const undone = actor.end === 'rollback' || (actor.end !== undefined && refused !== undefined);
  return undone ? [] : calls.filter(writes);
}

/** For a fault's description. */
export const told = ({ actor, act, verdict }: Call): string =>
  `${actor.name}'s ${act} (${verdict})`;
