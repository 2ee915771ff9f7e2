import { LOCK_NOT_AVAILABLE, readSqlState } from '../database/driver-errors.js';
import { type Rerun, type RerunPlaced, RerunStore } from '../store/rerun.store.js';
import { RecurringTask } from '../tasks/recurring-task.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { WorkerContext } from './context.js';

const PAGE_MAX = 1_000;

/** Poll interval while a rerun waits for the end of its run. */
const PENDING_EVERY_MS = 1_000;

/**
 * Moves reruns that were kept for running keys into delays, once those runs have ended. Any node
 * does this: the one that ran the key, or kept the rerun, may be gone.
 */
export class Reruns extends RecurringTask {
  #isPending = false;

  constructor(
    private readonly parts: Pick<WorkerContext, 'connections' | 'options' | 'events' | 'idle'>,
    private readonly onPlaced: (placed: RerunPlaced) => void,
    private readonly store = new RerunStore(parts.options.installation, parts.options.historyKept),
  ) {
    super(() => this.#look(), new TaskHealth(parts.events, 'rerun'), parts.idle);
  }

  ended(): void {
    if (this.#isPending) this.runNow();
  }

  async #look(): Promise<number> {
    this.#isPending = await this.pass();
    // Each kept rerun waits for a run that ends soon, here or elsewhere.
    if (this.#isPending) this.parts.idle.disturb();
    return this.#isPending ? PENDING_EVERY_MS : this.parts.options.loadEveryMs;
  }

  /** @returns whether a rerun is still kept, or may be behind the page */
  async pass(): Promise<boolean> {
    const kept = await this.store.all(this.parts.connections, PAGE_MAX);
    const errors: unknown[] = [];
    let left = 0;
    for (const rerun of kept) {
      try {
        if (!rerun.isOver || !(await this.#place(rerun))) left += 1;
      } catch (error) {
        errors.push(error);
      }
    }
    // One that is refused does not affect the others.
    if (errors.length > 0) throw errors[0];
    return left > 0 || kept.length === PAGE_MAX;
  }

  /** One at a time: a transaction that inserts the same key delays only that rerun. */
  async #place(rerun: Rerun): Promise<boolean> {
    try {
      const placed = await this.store.place(this.parts.connections, rerun);
      if (placed) this.onPlaced(placed);
      return placed !== undefined;
    } catch (error) {
      if (readSqlState(error) === LOCK_NOT_AVAILABLE) return false;
      throw error;
    }
  }
}
