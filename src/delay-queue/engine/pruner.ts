import type { DelayEvents } from '../delay.events.js';
import type { WorkStore } from '../store/work.store.js';
import { Chore } from './chore.js';
import { Trouble } from './trouble.js';

/** Lines of history deleted by one statement, and the pause between two while there are more. */
const BATCH_MAX = 5_000;
const PAUSE_MS = 200;

/** How often history is looked through when nothing is left to do. */
const EVERY_MS = 60_000;

/** Deletes old history in small batches: no long lock, no partition to be missing. */
export class Pruner {
  readonly #chore: Chore;

  constructor(
    private readonly store: WorkStore,
    private readonly keepMs: number,
    events: DelayEvents,
  ) {
    this.#chore = new Chore(() => this.#prune(), new Trouble(events, 'prune'));
  }

  start(): void {
    // Nodes of one deployment start together; their pruners need not.
    this.#chore.start(EVERY_MS * (0.5 + Math.random()));
  }

  stop(): Promise<void> {
    return this.#chore.stop();
  }

  async #prune(): Promise<number> {
    const pruned = await this.store.prune(this.keepMs, BATCH_MAX);
    return pruned === BATCH_MAX ? PAUSE_MS : EVERY_MS;
  }
}
