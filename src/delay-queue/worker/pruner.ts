import type { DelayEvents } from '../api/events.js';
import type { NodeStore } from '../store/node.store.js';
import { StatementSize } from '../store/statement-size.js';
import { type Idle, RecurringTask } from '../tasks/recurring-task.js';
import { Trouble } from '../tasks/trouble.js';

/** What one statement deletes at most, and the pause between two while there is more. */
const BATCH_MAX = 5_000;
const PAUSE_MS = 200;

/** How often history is looked through when nothing is left to do. */
const HISTORY_EVERY_MS = 60_000;

/** Nodes not seen for a day leave no trace, however they ended; there are never many. */
const NODES_AFTER_MS = 24 * 60 * 60 * 1_000;
/** A pause that is over counts for nothing. */
const PAUSES_AFTER_MS = NODES_AFTER_MS;
/** Longer than any rate looks back: a limit that is met again begins full. */
const QUOTAS_AFTER_MS = 2 * NODES_AFTER_MS;
/** An attempt that runs is told within seconds; of one that a paused process holds the lease is over by then. */
const ABORTS_AFTER_MS = 60 * 60 * 1_000;
/** Where history was switched off, its lines go when the last one is so old. */
const ABANDONED_AFTER_MS = NODES_AFTER_MS;
const RARELY_EVERY_MS = 60 * 60 * 1_000;

/** A node looks for the first time within this time of its start, if it does not do so more often. */
const FIRST_WITHIN_MS = 60_000;

/** Deletes what is old in small batches: no long lock, no partition to be missing. */
export class Pruner {
  readonly #task: RecurringTask;
  readonly #size = new StatementSize(BATCH_MAX);

  /**
   * @param prune deletes up to that many rows, and answers how many it did
   * @param everyMs how often it looks when nothing is left to do
   */
  constructor(
    private readonly prune: (limit: number) => Promise<number>,
    private readonly everyMs: number,
    events: DelayEvents,
    idle?: Idle,
  ) {
    this.#task = new RecurringTask(() => this.#prune(), new Trouble(events, 'prune'), idle);
  }

  start(): void {
    // Nodes of one deployment start together; their pruners need not.
    this.#task.start(Math.min(this.everyMs, FIRST_WITHIN_MS) * (0.5 + Math.random() / 2));
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  async #prune(): Promise<number> {
    const limit = this.#size.now;
    const pruned = await this.#size.runOrShrink(limit, () => this.prune(limit));
    if (pruned === undefined) return 0;
    return pruned === limit ? PAUSE_MS : this.everyMs;
  }
}

/** @param historyKeepMs how long what ended is kept; `null`: this node keeps no history, and what is left of one goes */
export function prunersOf(
  store: NodeStore,
  historyKeepMs: number | null,
  events: DelayEvents,
  idle?: Idle,
): Pruner[] {
  const nodes = (limit: number) => store.forgetNodes(NODES_AFTER_MS, limit);
  const pauses = (limit: number) => store.forgetPauses(PAUSES_AFTER_MS, limit);
  const quotas = (limit: number) => store.forgetQuotas(QUOTAS_AFTER_MS, limit);
  const permits = (limit: number) => store.forgetPermits(limit);
  const aborts = (limit: number) => store.forgetAborts(ABORTS_AFTER_MS, limit);
  const pruners = [nodes, pauses, quotas, permits, aborts].map(
    (prune) => new Pruner(prune, RARELY_EVERY_MS, events, idle),
  );
  const history = (limit: number) =>
    historyKeepMs === null
      ? store.pruneAbandoned(ABANDONED_AFTER_MS, limit)
      : store.prune(historyKeepMs, limit);
  return [...pruners, new Pruner(history, HISTORY_EVERY_MS, events, idle)];
}
