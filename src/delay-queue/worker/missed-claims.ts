import type { DelayEvents } from '../api/events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { LookedRow } from '../store/rows/attempt-rows.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { LostClaims } from './claims.js';
import type { DeadLetters, ExhaustedClaim } from './dead-letters.js';
import type { Entry } from './fair-queue.js';
import type { OnDeadCalls } from './on-dead-calls.js';
import type { TimerQueue } from './timer-queue.js';

/** Pauses before the next look at a locked row: doubled from the first to the last. */
const LOCKED: Growth = { firstMs: 4, factor: 2, lastMs: 2_000, jitter: 0.5 };

/** What became of the rows that a claim asked for and did not get. */
export class MissedClaims {
  readonly #health: TaskHealth;

  constructor(
    private readonly store: AttemptStore,
    private readonly registry: HandlerRegistry,
    private readonly queue: TimerQueue,
    private readonly lostClaims: LostClaims,
    private readonly onDeadCalls: Pick<OnDeadCalls, 'take'>,
    private readonly deadLetters: DeadLetters,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'lookup');
  }

  /** Looks at each and decides: gone, moved, early, without attempts, or locked by another session. */
  async lookAfter(entries: readonly Entry[]): Promise<void> {
    let rows: LookedRow[];
    try {
      rows = await this.store.lookAt(entries.map((entry) => entry.id));
    } catch (error) {
      this.#health.failed(error);
      for (const entry of entries) this.queue.again(entry, LOCKED.lastMs);
      return;
    }
    this.#health.worked();
    const byId = new Map(rows.map((row) => [row.id, row]));
    const exhausted: ExhaustedClaim[] = [];
    const odd: Entry[] = [];
    for (const entry of entries) {
      const row = byId.get(entry.id);
      if (row?.is_odd === true) odd.push(entry);
      else if (row === undefined || row.wake_ms === null) this.queue.forget(entry);
      else if (row.epoch !== entry.epoch) this.#moved(entry, row, row.wake_ms);
      else if (row.wake_ms > row.now_ms) this.#early(entry, row.wake_ms, row.now_ms);
      else if (row.attempts >= this.#maxAttempts(row)) {
        this.queue.forget(entry);
        if (!this.onDeadCalls.take(row))
          exhausted.push({ row, maxAttempts: this.#maxAttempts(row) });
      } else this.#locked(entry);
    }
    if (exhausted.length > 0) await this.deadLetters.exhausted(exhausted);
    if (odd.length > 0) await this.#setAside(odd);
  }

  /** Those that are still there are leased, or could not be written. */
  async #setAside(odd: readonly Entry[]): Promise<void> {
    await this.deadLetters.setAside(odd.map(({ id }) => id));
    for (const entry of odd) this.#locked(entry);
  }

  #moved(entry: Entry, row: LookedRow, wakeMs: number): void {
    this.queue.forget(entry);
    // Another node may run the row now; if it fails to finish, the scan finds the row again. Offered
    // here: a row that waits, and one that a lost claim of this node holds.
    if (row.leased_by === null || this.lostClaims.has(row.id, row.epoch)) {
      const { id, epoch, name, group, failed } = row;
      this.queue.offer({ id, epoch, name, group, wakeMs, stalled: false, failed }, 'confirmed');
    }
  }

  #early(entry: Entry, wakeMs: number, nowMs: number): void {
    this.queue.correct(entry, wakeMs);
    this.queue.again(entry, wakeMs - nowMs);
  }

  #locked(entry: Entry): void {
    entry.timesNotClaimed += 1;
    this.queue.again(entry, pauseMs(LOCKED, entry.timesNotClaimed));
  }

  #maxAttempts(row: LookedRow): number {
    return row.max_attempts ?? this.registry.get(row.name)?.maxAttempts ?? Infinity;
  }
}
