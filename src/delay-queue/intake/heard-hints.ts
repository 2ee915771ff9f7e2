import type { Hint } from '../cluster/hint.js';
import type { Nodes } from '../cluster/nodes.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { InFlight } from '../settlement/in-flight.js';
import type { Wake } from '../store/wire/wakes.js';
import type { Idle } from '../tasks/idle.js';
import type { Signal } from '../tasks/signal.js';
import type { Intake } from './intake.js';
import type { Loader } from './loader.js';

/** How far the clocks of two nodes, each its own estimate of the database's, may be apart. */
const HINT_SLACK_MS = 1_000;

interface Parts {
  intake: Intake;
  loader: Loader;
  nodes: Nodes;
  clock: DatabaseClock;
  inFlight: InFlight;
  idle: Idle;
  options: { nodeName: string; horizonMs: number };
}

/** From now on this node does what the hints of others ask for. */
export function takeHints(hints: Signal<Hint>, parts: Parts): void {
  hints.on((hint) => {
    if (hint.kind === 'wakes') offerNear(hint.wakes, parts, false);
    if (hint.kind === 'passed') offerNear(hint.wakes, parts, true);
    if (hint.kind === 'abort') parts.inFlight.abort(hint.claims);
    // A node hears of itself, too, and knows who was there when it came.
    const isOfOthers = hint.kind === 'nodes' && hint.came !== parts.options.nodeName;
    if (isOfOthers) parts.loader.nodesChanged();
  });
}

/**
 * What is due later is not kept: a load is in time for that.
 * @param isAnyones another node could not read them: they are for all nodes, not only for their owner
 */
function offerNear(
  wakes: readonly Wake[],
  { intake, nodes, clock, idle, options }: Parts,
  isAnyones: boolean,
): void {
  if (!intake.isOpen) return;
  // Also of another node's share, which may be idle, or gone; and what is due later may be due before the next look.
  if (wakes.some(({ name, group }) => nodes.mayRun(name, group))) idle.disturb();
  const nearMs = clock.nowMs() + options.horizonMs + HINT_SLACK_MS;
  for (const wake of wakes) {
    const isNear = wake.wakeMs <= nearMs;
    const isOwn = isAnyones || nodes.owns(wake.id, wake.name, wake.group);
    if (isNear && isOwn) intake.offer(wake, 'told');
  }
}
