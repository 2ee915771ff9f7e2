import type { DelayEvents } from '../api/events.js';
import type { HistoryKeep } from '../config/options.js';
import type { NodeStore } from '../store/node.store.js';
import { FIRST_PAGE } from '../store/rows/answers.js';
import { StatementSize } from '../store/statement-size.js';
import { type Idle, RecurringTask } from '../tasks/recurring-task.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { WorkerContext } from './context.js';

/** What one statement deletes at most, and the pause before the next while there is more. */
const BATCH_MAX = 5_000;
const PAUSE_MS = 200;

/** How often history is checked when nothing is left to delete. */
const HISTORY_EVERY_MS = 60_000;

const HOUR_MS = 60 * 60 * 1_000;

/** Rows of other tables, and how old they are when they are removed. There are never many. */
const FORGOTTEN = [
  // Not seen for a day, however they ended.
  ['node', 24 * HOUR_MS],
  // Over, so without effect.
  ['pause', 24 * HOUR_MS],
  // Longer than any rate looks back: a limit that is used again begins full.
  ['quota', 48 * HOUR_MS],
  // A running attempt is aborted within seconds; that of a paused process is over by then, too.
  ['abort', HOUR_MS],
] as const;
const RARELY_EVERY_MS = HOUR_MS;

/** What was locked when history was walked is met again then. */
const WALKS_AGAIN_MS = 24 * HOUR_MS;

/** The first check comes within this time of the start, or sooner if checks are more frequent. */
const FIRST_WITHIN_MS = 60_000;

/** Deletes old rows in small batches: no long lock, and no partition that could be missing. */
export class Pruner extends RecurringTask {
  readonly #size = new StatementSize(BATCH_MAX);

  /**
   * @param prune deletes up to `limit` rows, returns how many it has looked at
   * @param everyMs pause when nothing is left to delete
   */
  constructor(
    private readonly prune: (limit: number) => Promise<number>,
    private readonly everyMs: number,
    events: DelayEvents,
    idle?: Idle,
  ) {
    super(() => this.#prune(), new TaskHealth(events, 'prune'), idle);
  }

  override start(): void {
    // Nodes of one deployment start together; their pruners need not.
    super.start(Math.min(this.everyMs, FIRST_WITHIN_MS) * (0.5 + Math.random() / 2));
  }

  async #prune(): Promise<number> {
    const limit = this.#size.now;
    const pruned = await this.#size.runOrShrink(limit, () => this.prune(limit));
    if (pruned === undefined) return 0;
    return pruned === limit ? PAUSE_MS : this.everyMs;
  }
}

export function createPruners({
  nodeStore: store,
  options,
  events,
  idle,
}: Pick<WorkerContext, 'nodeStore' | 'options' | 'events' | 'idle'>): Pruner[] {
  const old = FORGOTTEN.map(
    ([kind, afterMs]) =>
      (limit: number) =>
        store.forget(kind, afterMs, limit),
  );
  const permits = (limit: number) => store.forgetPermits(limit);
  const history = options.historyKeeps.map((keep) => historyWalk(store, keep));
  const every = (everyMs: number, prunes: ((limit: number) => Promise<number>)[]) =>
    prunes.map((prune) => new Pruner(prune, everyMs, events, idle));
  return [...every(RARELY_EVERY_MS, [...old, permits]), ...every(HISTORY_EVERY_MS, history)];
}

/**
 * Walks history once, and then only what has grown old enough since. No index leads to the names:
 * it would cost each end of a delay, and a page that is only read costs 2 ms.
 */
export function historyWalk(
  store: NodeStore,
  keep: HistoryKeep,
): (limit: number) => Promise<number> {
  let behind = FIRST_PAGE;
  let beganMs = performance.now();
  return async (limit) => {
    const { read, end } = await store.prune(keep, behind, limit);
    behind = end;
    if (read < limit && performance.now() - beganMs > WALKS_AGAIN_MS) {
      behind = FIRST_PAGE;
      beganMs = performance.now();
    }
    return read;
  };
}
