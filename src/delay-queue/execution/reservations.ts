import type { Entry } from '../intake/entry.js';
import type { Intake } from '../intake/intake.js';
import { Signal } from '../tasks/signal.js';
import type { BatchPace } from './batch-pace.js';
import type { ConcurrencyLimits } from './concurrency-limits.js';
import { NextClaim } from './next-claim.js';

/** What is due and has a place to run: the entries of one call. */
export class Reservation {
  constructor(
    readonly entries: readonly [Entry, ...Entry[]],
    private readonly reservations: Reservations,
  ) {}

  /** Once, when the call is over or does not come. */
  release(): void {
    this.reservations.release(this.entries[0]);
  }
}

/** What one claim asks for. */
export interface Reserved {
  calls: readonly Reservation[];
  /** How long the first of those has to wait that were refused for their pace; Infinity: none was. */
  pauseLeftMs: number;
}

/** Reserves places for what is due: only what has a place is claimed. Stalled delays run one at a time. */
export class Reservations {
  /** There may be a place. */
  readonly vacant = new Signal();
  #stalledRuns = false;

  constructor(
    private readonly limits: ConcurrencyLimits,
    private readonly pace: BatchPace,
    private readonly intake: Intake,
  ) {
    limits.vacant.on(() => this.vacant.tell());
  }

  /** @param nowMs `performance.now()` */
  reserve(nowMs: number): Reserved {
    const { limits, pace, intake } = this;
    const claim = new NextClaim({ limits, pace, intake }, nowMs);
    const taken = intake.take((entry) => claim.admit(entry), !this.#stalledRuns);
    if (taken === 'stalled') this.#stalledRuns = true;
    const calls = claim.calls.map((entries) => new Reservation(entries as [Entry], this));
    return { calls, pauseLeftMs: claim.pauseLeftMs };
  }

  /** @param first entry of the call */
  release(first: Entry): void {
    if (first.stalled) this.#stalledRuns = false;
    this.pace.ended(first);
    this.limits.release(first.name);
    this.vacant.tell();
  }
}
