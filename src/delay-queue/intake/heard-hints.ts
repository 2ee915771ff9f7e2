import type { Hint, HintedWake } from '../cluster/hint.js';
import type { Nodes } from '../cluster/nodes.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { AbortWatch } from '../settlement/abort-watch.js';
import type { Idle } from '../tasks/idle.js';
import { Paced } from '../tasks/paced.js';
import type { Signal } from '../tasks/signal.js';
import type { HintedRows } from './hinted-rows.js';
import type { Intake } from './intake.js';
import type { Loader } from './loader.js';

/** How far the clocks of two nodes, each its own estimate of the database's, may be apart. */
const HINT_SLACK_MS = 1_000;

/** Between two loads that hints ask for. */
const LOAD_PAUSE_MS = 250;

interface Parts {
  intake: Intake;
  loader: Loader;
  rows: HintedRows;
  aborts: AbortWatch;
  nodes: Nodes;
  clock: DatabaseClock;
  idle: Idle;
  options: { nodeName: string; horizonMs: number };
}

/**
 * From now on this node does what the hints of others ask for: it looks. A hint may be anyone's, so it changes nothing by
 * itself, and what it costs does not grow with how many come.
 */
export function takeHints(hints: Signal<Hint>, parts: Parts): Paced {
  const loads = new Paced(() => parts.loader.nodesChanged(), LOAD_PAUSE_MS);
  hints.on((hint) => {
    if (hint.kind === 'wakes' && !offerNear(hint.wakes, parts, false)) loads.ask();
    if (hint.kind === 'passed' && !offerNear(hint.wakes, parts, true)) loads.ask();
    if (hint.kind === 'abort') parts.aborts.hinted(hint.ids);
    // A node hears of itself, too, and knows who was there when it came.
    if (hint.kind === 'nodes' && hint.came !== parts.options.nodeName) loads.ask();
  });
  return loads;
}

/**
 * What is due later is not kept: a load is in time for that.
 * @param isAnyones another node could not read them: they are for all nodes, not only for their owner
 * @returns false when there was no room for all of them, which a load then finds
 */
function offerNear(
  wakes: readonly HintedWake[],
  { intake, rows, nodes, clock, idle, options }: Parts,
  isAnyones: boolean,
): boolean {
  if (!intake.isOpen) return true;
  // Also of another node's share, which may be idle, or gone; and what is due later may be due before the next look.
  if (wakes.some(({ name }) => nodes.mayRun(name, null))) idle.disturb();
  const nearMs = clock.nowMs() + options.horizonMs + HINT_SLACK_MS;
  let hasRoom = true;
  for (const { groupNumber: number, ...wake } of wakes) {
    const { id, name, wakeMs } = wake;
    if (wakeMs > nearMs || !nodes.mayRun(name, null)) continue;
    if (!isAnyones && !nodes.ownsHinted(id, name, number)) continue;
    const isTaken =
      number === null ? intake.offer({ ...wake, group: null }, 'told') : rows.ask(id, isAnyones);
    if (!isTaken) hasRoom = false;
  }
  return hasRoom;
}
