import { type DelayEvents, withCause } from '../delay/delay.events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { ClaimRequest, LookedRow } from '../store/wire/attempt-rows.js';
import type { LostClaims } from '../settlement/lost-claims.js';
import type { Entry } from '../intake/entry.js';
import type { Intake } from '../intake/intake.js';
import { type Growth, pauseMs } from '../tasks/growing-pause.js';
import { Trouble } from '../tasks/trouble.js';

/** Pauses before a locked row is looked at again: doubled from the first to the last. */
const LOCKED: Growth = { firstMs: 4, factor: 2, lastMs: 2_000, jitter: 0.5 };

const NO_ATTEMPT_LEFT =
  'no attempt is left, and the last one ended without a word: its process was killed or paused';

/** What became of the rows that a claim asked for and did not get. */
export class Unclaimed {
  readonly #looking: Trouble;
  readonly #deadLettering: Trouble;

  constructor(
    private readonly store: AttemptStore,
    private readonly registry: HandlerRegistry,
    private readonly intake: Intake,
    private readonly lostClaims: LostClaims,
    private readonly events: DelayEvents,
  ) {
    this.#looking = new Trouble(events, 'look');
    this.#deadLettering = new Trouble(events, 'bury');
  }

  /** Looks at each and decides: gone, moved, early, without attempts, or locked by somebody. */
  async lookAfter(entries: readonly Entry[]): Promise<void> {
    let rows: LookedRow[];
    try {
      rows = await this.store.lookAt(entries.map((entry) => entry.id));
    } catch (error) {
      this.#looking.failed(error);
      for (const entry of entries) this.intake.again(entry, LOCKED.lastMs);
      return;
    }
    this.#looking.worked();
    const byId = new Map(rows.map((row) => [row.id, row]));
    const exhausted: ClaimRequest[] = [];
    for (const entry of entries) {
      const row = byId.get(entry.id);
      if (row === undefined || row.wake_ms === null) this.intake.forget(entry);
      else if (row.epoch !== entry.epoch) this.#moved(entry, row, row.wake_ms);
      else if (row.wake_ms > row.now_ms) this.#early(entry, row.wake_ms, row.now_ms);
      else if (this.#isExhausted(row)) exhausted.push(this.#asExhausted(entry, row));
      else this.#locked(entry);
    }
    if (exhausted.length > 0) await this.#deadLetter(exhausted);
  }

  #moved(entry: Entry, row: LookedRow, wakeMs: number): void {
    this.intake.forget(entry);
    // A row that others run now is the sweep's to find again, should they fail to finish it; one that
    // nobody runs has a claim of this node's that was committed unheard.
    if (row.leased_by === null || this.lostClaims.has(row.id, row.epoch)) {
      const { id, epoch, name, failed } = row;
      this.intake.offer({ id, epoch, name, wakeMs, stalled: false, failed }, 'read');
    }
  }

  #early(entry: Entry, wakeMs: number, nowMs: number): void {
    this.intake.correct(entry, wakeMs);
    this.intake.again(entry, wakeMs - nowMs);
  }

  #locked(entry: Entry): void {
    entry.timesNotClaimed += 1;
    this.intake.again(entry, pauseMs(LOCKED, entry.timesNotClaimed));
  }

  #maxAttempts(row: LookedRow): number {
    return row.max_attempts ?? this.registry.get(row.name)?.maxAttempts ?? Infinity;
  }

  #isExhausted(row: LookedRow): boolean {
    return row.attempts >= this.#maxAttempts(row);
  }

  #asExhausted(entry: Entry, row: LookedRow): ClaimRequest {
    this.intake.forget(entry);
    return { id: row.id, epoch: row.epoch, leaseMs: 0, maxAttempts: this.#maxAttempts(row) };
  }

  async #deadLetter(exhausted: readonly ClaimRequest[]): Promise<void> {
    try {
      for (const row of await this.store.deadLetter(exhausted, NO_ATTEMPT_LEFT)) {
        const { name, key, attempts: attempt, error } = row;
        const of = { id: String(row.id), name, key, attempt, error, durationMs: null };
        this.events.emit('dead', withCause(of, undefined));
      }
      this.#deadLettering.worked();
    } catch (error) {
      // The sweep meets the rows again.
      this.#deadLettering.failed(error);
    }
  }
}
