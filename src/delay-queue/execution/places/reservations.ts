import type { HandlerRegistry } from '../../handlers/handler.registry.js';
import type { Entry } from '../../intake/entry.js';
import type { Intake } from '../../intake/intake.js';
import { Signal } from '../../tasks/signal.js';
import { ClaimAhead } from './claim-ahead.js';
import { BatchPace } from './batch-pace.js';
import type { ClaimSizes } from './claim-sizes.js';
import type { ConcurrencyLimits } from './concurrency-limits.js';
import type { LimitBlocks } from './limit-blocks.js';
import { NextClaim } from './next-claim.js';

/** What is due and has a place to run, or will have one soon: the entries of one call. */
export class Reservation {
  #beganAtMs = Number.NaN;
  #isAnswered: boolean;

  constructor(
    readonly entries: readonly [Entry, ...Entry[]],
    private readonly reservations: Reservations,
    private hasPlace: boolean,
  ) {
    this.#isAnswered = hasPlace;
  }

  /**
   * The call begins, if there is a place for it.
   * @param isFirst none of its name waits longer: else it has only the place that it came with
   */
  takePlace(isFirst = true): boolean {
    this.#answered();
    this.hasPlace ||= isFirst && this.reservations.takePlace(this.entries[0]);
    if (this.hasPlace) this.#beganAtMs = performance.now();
    return this.hasPlace;
  }

  /** Once, when the call is over or does not come. */
  release(atOnce = false): void {
    this.#answered();
    const [first] = this.entries;
    const tookMs = performance.now() - this.#beganAtMs;
    if (this.hasPlace) this.reservations.release(first, tookMs, atOnce);
    else this.reservations.leave(first);
  }

  #answered(): void {
    if (!this.#isAnswered) this.reservations.ahead.answered(this.entries[0].name);
    this.#isAnswered = true;
  }
}

/** What one claim asks for. */
export interface Reserved {
  calls: readonly Reservation[];
  /** How long the first of those has to wait that were refused for their pace; Infinity: none was. */
  pauseLeftMs: number;
}

/**
 * Reserves places for what is due: what is claimed has a place, or will have one within a moment. Stalled delays run one at
 * a time.
 */
export class Reservations {
  /** There may be a place. */
  readonly vacant = new Signal();
  /** A call of that name has given its place back. */
  readonly freed = new Signal<string>();
  readonly ahead: ClaimAhead;
  readonly #pace: BatchPace;
  #stalledRuns = false;

  constructor(
    private readonly limits: ConcurrencyLimits,
    registry: HandlerRegistry,
    { claimBatch }: { claimBatch: number },
    private readonly blocks: LimitBlocks,
    private readonly sizes: ClaimSizes,
    private readonly intake: Intake,
  ) {
    this.#pace = new BatchPace(registry);
    this.ahead = new ClaimAhead(registry, claimBatch);
    blocks.ended.on(({ name, group }) => intake.release(name, group));
    for (const each of [limits.vacant, blocks.vacant]) each.on(() => this.vacant.tell());
  }

  /** @param nowMs `performance.now()` */
  reserve(nowMs: number): Reserved {
    const { limits, blocks, ahead, sizes, intake } = this;
    const claim = new NextClaim({ limits, pace: this.#pace, blocks, ahead, sizes, intake }, nowMs);
    const taken = intake.take((entry) => claim.admit(entry), !this.#stalledRuns);
    if (taken === 'stalled') this.#stalledRuns = true;
    const calls = claim.calls.map(
      ({ entries, hasPlace }) => new Reservation(entries, this, hasPlace),
    );
    return { calls, pauseLeftMs: claim.pauseLeftMs };
  }

  /** For a call that was claimed without one. @param first entry of the call */
  takePlace({ name }: Entry): boolean {
    const hasPlace = this.limits.acquire(name);
    if (hasPlace) this.ahead.remove(name);
    return hasPlace;
  }

  /** @param tookMs how long the call had its place; NaN: it never began */
  release(first: Entry, tookMs: number, atOnce: boolean): void {
    if (first.stalled) this.#stalledRuns = false;
    this.#pace.ended(first);
    this.limits.release(first.name);
    if (tookMs >= 0) this.ahead.took(first.name, tookMs, atOnce);
    this.freed.tell(first.name);
    this.vacant.tell();
  }

  /** Of a call that had no place, and will not get one. */
  leave({ name }: Entry): void {
    this.ahead.remove(name);
    this.vacant.tell();
  }
}
