import type { Entry } from '../intake/entry.js';
import type { Intake } from '../intake/intake.js';
import { Signal } from '../tasks/signal.js';
import type { BatchPace } from './batch-pace.js';
import type { ConcurrencyLimits } from './concurrency-limits.js';
import type { LimitBlocks } from './limit-blocks.js';
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
  /** How long the first of those has to wait that were refused for their pace or a limit; Infinity: none was. */
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
    private readonly blocks: LimitBlocks,
    private readonly intake: Intake,
  ) {
    for (const each of [limits.vacant, blocks.vacant]) each.on(() => this.vacant.tell());
  }

  /** @param nowMs `performance.now()` */
  reserve(nowMs: number): Reserved {
    const { limits, pace, blocks, intake } = this;
    const claim = new NextClaim({ limits, pace, blocks, intake }, nowMs);
    const taken = intake.take((entry) => claim.admit(entry), !this.#stalledRuns);
    if (taken === 'stalled') this.#stalledRuns = true;
    const calls = claim.calls.map((entries) => new Reservation(entries as [Entry], this));
    return { calls, pauseLeftMs: Math.min(claim.pauseLeftMs, blocks.leftMs(nowMs)) };
  }

  /** @param first entry of the call */
  release(first: Entry): void {
    if (first.stalled) this.#stalledRuns = false;
    this.pace.ended(first);
    this.limits.release(first.name);
    this.vacant.tell();
  }
}
