import { StatementSize, inParts } from '../store/statement-size.js';
import { Paced } from '../tasks/trigger.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { WorkerContext } from './context.js';
import type { TimerQueue } from './timer-queue.js';

const BATCH_MAX = 1_000;

/** Hints that wait for a read. A load finds what comes beyond that. */
const WAITING_MAX = 10_000;

const PAUSE_MS = 10;

/**
 * Reads the rows of delays with a group: hints do not carry groups, as any login can read hints.
 */
export class HintedRows {
  readonly #size = new StatementSize(BATCH_MAX);
  readonly #health: TaskHealth;
  readonly #look: Paced;
  /** By id whether a node could not read its payload: any node may run it. */
  #waiting = new Map<number, boolean>();
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(
    private readonly parts: Pick<WorkerContext, 'store' | 'options' | 'events'> & {
      queue: TimerQueue;
    },
  ) {
    this.#health = new TaskHealth(parts.events, 'lookup');
    this.#look = new Paced(() => (this.#looking ??= this.#lookAtAll()), PAUSE_MS);
  }

  /** @returns false when there is no room for it */
  ask(id: number, refused: boolean): boolean {
    if (this.#waiting.size >= WAITING_MAX) return false;
    this.#waiting.set(id, refused);
    this.#look.ask();
    return true;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#look.stop();
    await this.#looking;
  }

  async #lookAtAll(): Promise<void> {
    const asked = [...this.#waiting];
    this.#waiting = new Map();
    try {
      await inParts(asked, this.#size, (some) => this.#lookAt(some), this.#health);
      this.#health.worked();
    } catch (error) {
      // A load finds them.
      this.#health.failed(error);
    }
    this.#looking = undefined;
    if (this.#waiting.size > 0) this.#look.ask();
  }

  async #lookAt(asked: readonly [id: number, refused: boolean][]): Promise<void> {
    const { store, queue, options } = this.parts;
    const rows = await store.lookAt(asked.map(([id]) => id));
    const refused = new Map(asked);
    for (const { id, epoch, name, group, failed, node, ...row } of rows) {
      const { wake_ms: wakeMs, now_ms: nowMs } = row;
      if (this.#stopped || wakeMs === null || wakeMs - nowMs > options.horizonMs) continue;
      const wake = { id, epoch, name, group, wakeMs, failed, stalled: node !== null };
      queue.offer(refused.get(id) ? { ...wake, refused: true } : wake, 'confirmed');
    }
  }
}
