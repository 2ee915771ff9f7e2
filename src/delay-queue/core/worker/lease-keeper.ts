import { inParts, StatementSize } from '../store/statement-size.js';
import { RecurringTask } from '../tasks/recurring-task.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { Attempt } from './attempt.js';
import type { WorkerContext } from './context.js';

const BATCH_MAX = 1_000;

/**
 * Renews the leases of plain handlers that run long, and ends attempts whose lease is lost. A
 * transactional attempt is not renewed: its timeout is within its lease, and a paused one must let go.
 *
 * Attempts that are over but not written yet are renewed too: while the database refuses writes, on
 * a full disk for example, a handler that succeeded must not run again with every lease.
 */
export class LeaseKeeper extends RecurringTask {
  readonly #size: StatementSize;
  #watch: NodeJS.Timeout | undefined;

  readonly #leaseMs: number;

  constructor(
    private readonly parts: Pick<WorkerContext, 'store' | 'jobs' | 'options' | 'events'>,
  ) {
    super(() => this.#keep(), new TaskHealth(parts.events, 'renew'));
    this.#leaseMs = parts.options.leaseMs;
    this.#size = new StatementSize(BATCH_MAX, this.#leaseMs / 8);
  }

  override start(): void {
    super.start(this.#everyMs);
    // Not part of the renewals: one without an answer takes longer than a lease.
    this.#watch = setInterval(() => this.#loseExpired(), this.#everyMs);
  }

  override stop(): Promise<void> {
    clearInterval(this.#watch);
    return super.stop();
  }

  /** Often enough for one renewal to fail and the next to be in time. */
  get #everyMs(): number {
    return this.#leaseMs / 4;
  }

  async #keep(): Promise<number> {
    const now = performance.now();
    // Renewed once half of a lease is gone, so short attempts cost no statement. The oldest first.
    const old = [...this.#plain(), ...this.parts.jobs.unwritten()]
      .filter((attempt) => attempt.leaseEndsAtMs - now < this.#leaseMs / 2)
      .toSorted((a, b) => a.leaseEndsAtMs - b.leaseEndsAtMs);
    await inParts(old, this.#size, (some) => this.#renew(some), this.health);
    return this.#everyMs;
  }

  async #renew(attempts: readonly Attempt[]): Promise<void> {
    const askedAtMs = performance.now();
    const renewed = new Set(await this.parts.store.renew(attempts, this.#leaseMs));
    const missing: Attempt[] = [];
    for (const attempt of attempts) {
      if (renewed.has(attempt.id)) attempt.leaseEndsAtMs = askedAtMs + this.#leaseMs;
      else missing.push(attempt);
    }
    if (missing.length === 0) return;
    const rows = await this.parts.store.lookAt(missing.map((attempt) => attempt.id));
    const epochs = new Map(rows.map((row) => [row.id, row.epoch]));
    for (const attempt of missing) {
      // Locked by another session: the lease still holds, and the next run tries again. A row that
      // the handler itself moved on needs no lease.
      if (epochs.get(attempt.id) !== attempt.epoch && !attempt.movedOn)
        attempt.holder.lose(attempt);
    }
  }

  /** By this node's clock, on which a lease begins earlier than on the database's. */
  #loseExpired(): void {
    const now = performance.now();
    for (const attempt of this.#plain()) {
      if (attempt.leaseEndsAtMs <= now && !attempt.movedOn) attempt.holder.lose(attempt);
    }
  }

  #plain(): Attempt[] {
    return this.parts.jobs
      .running()
      .filter(({ handler, over }) => !handler.transactional && !handler.own && !over);
  }
}
