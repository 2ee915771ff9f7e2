import type { LookedRow } from '../store/sql/attempts.sql.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { WorkerContext } from './context.js';
import type { DeadLetters, ExhaustedClaim } from './dead-letters.js';
import type { Job } from './job.js';
import type { TimerQueue } from './timer-queue.js';

/** Pauses before the next look at a locked row: doubled from the first to the last. */
const LOCKED: Growth = { firstMs: 4, factor: 2, lastMs: 2_000, jitter: 0.5 };

interface MissedParts extends Pick<WorkerContext, 'store' | 'registry' | 'jobs' | 'events'> {
  queue: TimerQueue;
  deadLetters: DeadLetters;
}

/** What became of the rows that a claim asked for and did not get. */
export class MissedClaims {
  readonly #health: TaskHealth;

  constructor(private readonly parts: MissedParts) {
    this.#health = new TaskHealth(parts.events, 'lookup');
  }

  /** Looks at each and decides: gone, moved, early, without attempts, or locked by another session. */
  async lookAfter(entries: readonly Job[]): Promise<void> {
    let rows: LookedRow[];
    try {
      rows = await this.parts.store.lookAt(entries.map((entry) => entry.id));
    } catch (error) {
      this.#health.failed(error);
      for (const entry of entries) this.parts.queue.again(entry, LOCKED.lastMs);
      return;
    }
    this.#health.worked();
    const byId = new Map(rows.map((row) => [row.id, row]));
    const exhausted: ExhaustedClaim[] = [];
    const odd: Job[] = [];
    for (const entry of entries) {
      const row = byId.get(entry.id);
      if (row?.is_odd === true) odd.push(entry);
      else if (row === undefined || row.wake_ms === null) this.parts.queue.forget(entry);
      else if (row.epoch !== entry.epoch) this.#moved(entry, row, row.wake_ms);
      else if (row.wake_ms > row.now_ms)
        this.parts.queue.again(entry, row.wake_ms - row.now_ms, row.wake_ms);
      else if (row.attempts >= this.#maxAttempts(row)) {
        this.parts.queue.forget(entry);
        exhausted.push({ row, maxAttempts: this.#maxAttempts(row) });
      } else this.#locked(entry);
    }
    if (exhausted.length > 0) await this.parts.deadLetters.exhausted(exhausted);
    if (odd.length > 0) await this.#setAside(odd);
  }

  /** Those that are still there are leased, or could not be written. */
  async #setAside(odd: readonly Job[]): Promise<void> {
    await this.parts.deadLetters.setAside(odd.map(({ id }) => id));
    for (const entry of odd) this.#locked(entry);
  }

  #moved(entry: Job, row: LookedRow, wakeMs: number): void {
    this.parts.queue.forget(entry);
    // Another node may run the row now; if it fails to finish, the scan finds the row again. Offered
    // here: a row that waits, and one that a lost claim of this node holds.
    if (row.node === null || this.parts.jobs.isLost(row.id, row.epoch)) {
      const { id, epoch, name, group, failed } = row;
      this.parts.queue.offer(
        { id, epoch, name, group, wakeMs, stalled: false, failed },
        'confirmed',
      );
    }
  }

  #locked(entry: Job): void {
    entry.timesNotClaimed += 1;
    this.parts.queue.again(entry, pauseMs(LOCKED, entry.timesNotClaimed));
  }

  #maxAttempts(row: LookedRow): number {
    return row.max_attempts ?? this.parts.registry.get(row.name)?.maxAttempts ?? Infinity;
  }
}
