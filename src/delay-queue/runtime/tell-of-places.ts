import type { Hint, Vacancy } from '../cluster/hint.js';
import type { Nodes } from '../cluster/nodes.js';
import type { Notifier } from '../cluster/notifier.js';
import type { LimitBlocks } from '../execution/places/limit-blocks.js';
import type { HeldClaim } from '../settlement/held-claim.js';
import { Paced } from '../tasks/paced.js';
import type { Signal } from '../tasks/signal.js';

/** Between two rounds of claims that hints ask for. An attempt that is over on this node asks at once. */
const PAUSE_MS = 10;

/** Names and groups of one round; of what comes beyond that, the next look knows. */
const TOLD_MAX = 10_000;

interface Parts {
  /** Attempts of names with limits that are over on this node. */
  freed: Signal<HeldClaim>;
  hints: Signal<Hint>;
  blocks: Pick<LimitBlocks, 'freed' | 'freedElsewhere'>;
  nodes: Pick<Nodes, 'isShared'>;
  notifier: Pick<Notifier, 'sendVacant'>;
}

/**
 * From now on a claim that waits for a place under a limit hears when one is free, on this node and on the others. Each login
 * that may connect can tell of places, so what hints cost does not grow with how many come.
 */
export function tellOfPlaces({ freed, hints, blocks, nodes, notifier }: Parts): Paced {
  let told = new Map<string, Vacancy>();
  const free = new Paced(() => {
    const round = told.values();
    told = new Map();
    for (const { name, groupNumber } of round) blocks.freedElsewhere(name, groupNumber);
  }, PAUSE_MS);
  freed.on(({ row }) => {
    const group = groupOf(row.extras);
    blocks.freed(row.name, group);
    if (nodes.isShared(row.name)) notifier.sendVacant(row.name, group);
  });
  hints.on((hint) => {
    if (hint.kind !== 'vacant') return;
    for (const place of hint.of) {
      if (!nodes.isShared(place.name) || told.size >= TOLD_MAX) continue;
      told.set(`${place.groupNumber} ${place.name}`, place);
    }
    if (told.size > 0) free.ask();
  });
  return free;
}

const groupOf = (extras: string | null): string | null =>
  extras === null ? null : (JSON.parse(extras) as { group: string | null }).group;
