import type { DelayEvents } from '../api/events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import { Recurrence, type StoredRepeat } from '../recurrence/recurrence.js';
import type { AttemptStore } from '../store/attempt.store.js';
import { wakeOfRecurred } from '../store/rows/answers.js';
import type { LastClaim, LookedRow } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { inParts, StatementSize } from '../store/statement-size.js';
import { type Growth, pauseMs, TaskHealth } from '../tasks/recurring-task.js';
import type { SetAside } from './claimer.js';
import type { LostClaims } from './claims.js';
import { type ExhaustedDelays, NO_ATTEMPT_LEFT } from './dead-letters.js';
import type { Entry } from './fair-queue.js';
import type { TimerQueue } from './timer-queue.js';

/** Pauses before a locked row is looked at again: doubled from the first to the last. */
const LOCKED: Growth = { firstMs: 4, factor: 2, lastMs: 2_000, jitter: 0.5 };

/** As many as a claim asks for. */
const DEAD_MAX = 1_000;

/** What became of the rows that a claim asked for and did not get. */
export class MissedClaims {
  readonly #looking: TaskHealth;
  readonly #deadLettering: TaskHealth;
  /** Rows of one statement that makes dead letters. */
  readonly #deadSize = new StatementSize(DEAD_MAX);

  constructor(
    private readonly store: AttemptStore,
    private readonly registry: HandlerRegistry,
    private readonly queue: TimerQueue,
    private readonly lostClaims: LostClaims,
    private readonly dying: ExhaustedDelays,
    private readonly to: { waits(wake: Wake): void },
    private readonly setAside: SetAside,
    events: DelayEvents,
  ) {
    this.#looking = new TaskHealth(events, 'lookup');
    this.#deadLettering = new TaskHealth(events, 'deadLetter');
  }

  /** Looks at each and decides: gone, moved, early, without attempts, or locked by another session. */
  async lookAfter(entries: readonly Entry[]): Promise<void> {
    let rows: LookedRow[];
    try {
      rows = await this.store.lookAt(entries.map((entry) => entry.id));
    } catch (error) {
      this.#looking.failed(error);
      for (const entry of entries) this.queue.again(entry, LOCKED.lastMs);
      return;
    }
    this.#looking.worked();
    const byId = new Map(rows.map((row) => [row.id, row]));
    const exhausted: Exhausted[] = [];
    const odd: Entry[] = [];
    for (const entry of entries) {
      const row = byId.get(entry.id);
      if (row?.is_odd === true) odd.push(entry);
      else if (row === undefined || row.wake_ms === null) this.queue.forget(entry);
      else if (row.epoch !== entry.epoch) this.#moved(entry, row, row.wake_ms);
      else if (row.wake_ms > row.now_ms) this.#early(entry, row.wake_ms, row.now_ms);
      else if (this.#isExhausted(row)) {
        const request = this.#asExhausted(entry, row);
        if (!this.dying.takes(row)) exhausted.push(request);
      } else this.#locked(entry);
    }
    if (exhausted.length > 0) await this.#deadLetter(exhausted);
    if (odd.length > 0) await this.#setAside(odd);
  }

  /** Those that are still there are leased, or could not be written. */
  async #setAside(odd: readonly Entry[]): Promise<void> {
    await this.setAside.look(odd.map(({ id }) => id));
    for (const entry of odd) this.#locked(entry);
  }

  #moved(entry: Entry, row: LookedRow, wakeMs: number): void {
    this.queue.forget(entry);
    // A row that others run now is the sweep's to find again, should they fail to finish it; one that
    // no node runs has a claim of this node's that was committed without an answer.
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

  #isExhausted(row: LookedRow): boolean {
    return row.attempts >= this.#maxAttempts(row);
  }

  #asExhausted(entry: Entry, row: LookedRow): Exhausted {
    this.queue.forget(entry);
    const maxAttempts = this.#maxAttempts(row);
    const nextMs = nextOf(row);
    return { id: row.id, epoch: row.epoch, maxAttempts, dueMs: row.due_ms, nextMs };
  }

  /** Who is refused is refused alone. */
  async #deadLetter(exhausted: readonly Exhausted[]): Promise<void> {
    try {
      await inParts(exhausted, this.#deadSize, (some) => this.#makeDead(some), this.#deadLettering);
      this.#deadLettering.worked();
    } catch (error) {
      // The sweep meets the rows again.
      this.#deadLettering.failed(error);
    }
  }

  async #makeDead(exhausted: readonly Exhausted[]): Promise<void> {
    const once = exhausted.filter(({ nextMs }) => nextMs === undefined);
    if (once.length > 0) {
      for (const row of await this.store.deadLetter(once, NO_ATTEMPT_LEFT)) this.setAside.tell(row);
    }
    const recurring = exhausted.flatMap(({ nextMs, ...row }) =>
      nextMs === undefined ? [] : { ...row, ...DISCARDED, nextMs },
    );
    if (recurring.length === 0) return;
    for (const row of await this.store.recur(recurring)) {
      this.setAside.tell(row);
      this.to.waits(wakeOfRecurred(row));
    }
  }
}

/** A row without an attempt left; one that recurs goes on. */
interface Exhausted extends LastClaim {
  dueMs: number;
  /** Undefined: it stays as a dead letter. */
  nextMs: number | undefined;
}

const DISCARDED = { state: 'discarded', latenessMs: null, error: NO_ATTEMPT_LEFT } as const;

function nextOf({ repeat, due_ms: dueMs, now_ms: nowMs }: LookedRow): number | undefined {
  if (repeat === null) return undefined;
  try {
    return new Recurrence(JSON.parse(repeat) as StoredRepeat).nextMs(dueMs, nowMs);
  } catch {
    return undefined;
  }
}
