import type { DatabaseClock } from '../database/database-clock.js';
import type { DelayEvents } from '../delay/delay.events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { Entry } from '../intake/entry.js';
import type { Intake } from '../intake/intake.js';
import type { Acknowledger } from '../settlement/acknowledger.js';
import type { LostClaims } from '../settlement/lost-claims.js';
import type { ClaimRequest, ClaimedRow } from '../store/wire/attempt-rows.js';
import type { AttemptStore } from '../store/attempt.store.js';
import { retryPauseMs } from '../tasks/growing-pause.js';
import { Trouble } from '../tasks/trouble.js';
import { Attempt } from './call/attempt.js';

/** What a claim was answered. */
export interface Claimed {
  rows: ReadonlyMap<number, ClaimedRow>;
  /** `performance.now()` before the claim was sent: no lease began earlier. */
  askedAtMs: number;
}

/** A claim that nobody answered. */
export interface NotAnswered {
  /** How long to claim nothing, in milliseconds. */
  pauseMs: number;
}

/** Claims rows, and makes attempts of those that it has got. */
export class Claimer {
  readonly #trouble: Trouble;
  #failures = 0;
  #isStopped = false;

  constructor(
    private readonly store: AttemptStore,
    private readonly registry: HandlerRegistry,
    private readonly clock: DatabaseClock,
    private readonly intake: Intake,
    private readonly acknowledger: Acknowledger,
    private readonly lostClaims: LostClaims,
    events: DelayEvents,
  ) {
    this.#trouble = new Trouble(events, 'claim');
  }

  /** What is claimed from now on is given back. */
  stop(): void {
    this.#isStopped = true;
  }

  /** An answer that does not come is no error: the entries are looked at again by themselves. */
  async claim(entries: readonly Entry[]): Promise<Claimed | NotAnswered> {
    const requests = entries.map((entry) => this.#request(entry));
    const askedAtMs = performance.now();
    let rows: ClaimedRow[];
    try {
      rows = await this.store.claim(requests);
    } catch (error) {
      return { pauseMs: this.#failed(entries, error) };
    }
    this.#failures = 0;
    this.#trouble.worked();
    // What fires often keeps its own clock right: no other statement answers as soon as a claim.
    if (rows[0]) this.clock.sample(askedAtMs, performance.now(), rows[0].now_ms);
    for (const { id } of rows) this.lostClaims.forget(id);
    return { rows: new Map(rows.map((row) => [row.id, row])), askedAtMs };
  }

  /** Undefined when it is too late to begin: then the row is given back. */
  attempt(row: ClaimedRow, askedAtMs: number): Attempt | undefined {
    const handler = this.registry.get(row.name);
    const leaseEndsAtMs = askedAtMs + (handler?.leaseMs ?? 0);
    // This process may have stood still while the answer was on its way: others have the row by now,
    // or a caller was told that it is cancelled.
    const isOver = leaseEndsAtMs <= performance.now();
    if (handler === undefined || isOver || this.#isStopped) {
      this.acknowledger.giveBack(row.id, row.epoch);
      return undefined;
    }
    // The claim has proven that it was due; the estimate of the clock may be a little behind.
    const startedMs = Math.max(this.clock.nowMs(), row.now_ms);
    return new Attempt(row, handler, leaseEndsAtMs, startedMs - row.due_ms);
  }

  #request(entry: Entry): ClaimRequest {
    entry.place = 'claiming';
    const handler = this.registry.get(entry.name);
    if (handler === undefined) throw new Error(`no handler for ${entry.name}`);
    return {
      id: entry.id,
      epoch: entry.epoch,
      leaseMs: handler.leaseMs,
      maxAttempts: handler.maxAttempts,
    };
  }

  /**
   * Nobody knows whether the claim was committed. If it was, the rows are leased to this node under
   * the next epoch and no attempt has started: they are given back. Only then are they looked at
   * again: a claim in between would get that same epoch, and the giving back would hit it. It may be
   * committed later than that: what is not given back now is remembered.
   *
   * @returns how long to claim nothing, in milliseconds
   */
  #failed(entries: readonly Entry[], error: unknown): number {
    this.#failures += 1;
    this.#trouble.failed(error);
    const pauseMs = retryPauseMs(this.#failures);
    for (const entry of entries) {
      const epoch = entry.epoch + 1;
      this.lostClaims.add(entry.id, epoch);
      this.acknowledger.giveBack(entry.id, epoch, () => this.intake.again(entry, pauseMs));
    }
    return pauseMs;
  }
}
