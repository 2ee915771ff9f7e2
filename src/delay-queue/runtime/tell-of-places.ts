import type { Hint } from '../cluster/hint.js';
import type { Nodes } from '../cluster/nodes.js';
import type { Notifier } from '../cluster/notifier.js';
import type { LimitBlocks } from '../execution/places/limit-blocks.js';
import type { HeldClaim } from '../settlement/held-claim.js';
import type { Signal } from '../tasks/signal.js';

interface Parts {
  /** Attempts of names with limits that are over on this node. */
  freed: Signal<HeldClaim>;
  hints: Signal<Hint>;
  blocks: LimitBlocks;
  nodes: Nodes;
  notifier: Notifier;
}

/** From now on a claim that waits for a place under a limit hears when one is free, on this node and on the others. */
export function tellOfPlaces({ freed, hints, blocks, nodes, notifier }: Parts): void {
  freed.on(({ row }) => {
    const group = groupOf(row.extras);
    blocks.freed(row.name, group);
    if (nodes.isShared(row.name)) notifier.sendVacant(row.name, group);
  });
  hints.on((hint) => {
    if (hint.kind !== 'vacant') return;
    for (const { name, groupNumber } of hint.of) {
      if (nodes.isShared(name)) blocks.freedElsewhere(name, groupNumber);
    }
  });
}

const groupOf = (extras: string | null): string | null =>
  extras === null ? null : (JSON.parse(extras) as { group: string | null }).group;
