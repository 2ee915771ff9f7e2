import type { DelayEvents } from '../delay/delay.events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { WorkStore } from '../store/work.store.js';
import type { ClaimRequest, ClaimedRow } from '../store/wire/attempt-rows.js';
import type { Wake } from '../store/wire/wakes.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { Acknowledger } from '../settlement/acknowledger.js';
import { Attempt } from './call/attempt.js';
import { callOf } from './call/batch-call.js';
import { BatchPace } from './batch-pace.js';
import { Booking } from './reservations.js';
import { retryPauseMs } from '../tasks/recurring-task.js';
import type { Executor } from './executor.js';
import type { InFlight } from '../settlement/in-flight.js';
import type { LostClaims } from '../settlement/lost-claims.js';
import type { Missed } from './unclaimed.js';
import { Trigger } from '../tasks/trigger.js';
import type { Entry, ReadAhead, Source } from '../intake/read-ahead.js';
import type { ReadyQueue } from '../intake/ready-queue.js';
import type { Slots } from './concurrency-limits.js';
import { Trouble } from '../tasks/trouble.js';

/** Claims on their way at once: one runs while the next one's rows are coming due. */
const CLAIMS_MAX = 2;

/** Ended attempts that are not acknowledged yet, before no more are claimed. */
const UNACKNOWLEDGED_MAX = 10_000;

/** Overdue rows are fetched ahead of their turn up to so many: the rest of the room is for what is new. */
const READY_MAX = 50_000;

interface Parts {
  store: WorkStore;
  registry: HandlerRegistry;
  clock: DatabaseClock;
  slots: Slots;
  ready: ReadyQueue;
  readAhead: ReadAhead;
  missed: Missed;
  inFlight: InFlight<Attempt>;
  lostClaims: LostClaims;
  executor: Executor;
  acknowledger: Acknowledger;
  events: DelayEvents;
}

/** Turns what is due into claims, and claims into attempts: only what has a free slot is claimed. */
export class Dispatcher {
  readonly #claims = new Set<Promise<void>>();
  readonly #trouble: Trouble;
  readonly #pace: BatchPace;
  readonly #claiming = new Trigger(() => this.#claimAll());
  #failures = 0;
  #suspectRuns = false;
  #stopped = false;

  /**
   * @param claimBatch rows per claim, at most
   * @param sweep told when there is room for more overdue rows than are known, and when one was left out
   */
  constructor(
    private readonly parts: Parts,
    private readonly claimBatch: number,
    private readonly sweep: { hungry: () => void; leftOut: () => void },
  ) {
    this.#trouble = new Trouble(parts.events, 'claim');
    this.#pace = new BatchPace(parts.registry);
  }

  /**
   * Keeps an eye on a wake, unless its claim runs here, or ran here, or nobody here could run it.
   * @returns false when there was no room for it
   */
  offer(wake: Wake, source: Source): boolean {
    const { registry, inFlight, acknowledger, readAhead } = this.parts;
    if (this.#stopped || registry.get(wake.name) === undefined) return true;
    if (inFlight.covers(wake.id, wake.epoch)) return true;
    // Its attempt is over: whoever ran it again would do the work twice.
    if (acknowledger.unwritten.covers(wake.id, wake.epoch)) return true;
    if (this.#giveBackLost(wake)) return true;
    return readAhead.arm(wake, source);
  }

  /** Whether a page of overdue rows would find something to do soon. */
  get hasRoom(): boolean {
    return !this.#stopped && this.parts.ready.size < this.claimBatch * 2;
  }

  /** Whether more overdue rows of that name would find something to do soon. */
  hasRoomFor(name: string): boolean {
    const { ready } = this.parts;
    return !this.#stopped && ready.size < READY_MAX && ready.sizeOf(name) < this.claimBatch;
  }

  /** Entries whose wake has come. */
  due(entries: readonly Entry[]): void {
    const { ready, readAhead } = this.parts;
    const leftOut = entries.filter((entry) => !ready.push(entry));
    for (const entry of leftOut) readAhead.forget(entry);
    if (leftOut.length > 0) this.sweep.leftOut();
    this.dispatch();
  }

  /** Leaves to others what is theirs now, so that two nodes do not claim the same rows one after the other. */
  leave(isOwn: (entry: Entry) => boolean): void {
    const { ready, readAhead } = this.parts;
    for (const entry of ready.keepOnly(isOwn)) readAhead.forget(entry);
  }

  /** Claims what has a slot, once for everything that happens in this turn of the event loop. */
  dispatch(): void {
    this.#claiming.trigger();
  }

  /** Claims nothing more, and ends when the claims on their way have been answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#claiming.stop();
    while (this.#claims.size > 0) await Promise.all(this.#claims);
  }

  #claimAll(): void {
    const { slots, ready, acknowledger } = this.parts;
    let pauseLeftMs = Infinity;
    while (this.#claims.size < CLAIMS_MAX && acknowledger.size < UNACKNOWLEDGED_MAX) {
      const booking = new Booking({ slots, ready, pace: this.#pace }, performance.now());
      const isAny = this.#book(booking);
      pauseLeftMs = Math.min(pauseLeftMs, booking.pauseLeftMs);
      if (!isAny) break;
      const claim = this.#claim(booking.calls).finally(() => {
        this.#claims.delete(claim);
        this.dispatch();
      });
      this.#claims.add(claim);
    }
    this.#claiming.triggerIn(pauseLeftMs);
    if (ready.size < this.claimBatch) this.sweep.hungry();
  }

  /** @returns whether anything was booked */
  #book(booking: Booking): boolean {
    const seat = (entry: Entry): boolean => booking.seat(entry);
    const taken = this.parts.ready.take(this.claimBatch, seat, !this.#suspectRuns);
    if (taken === 'suspect') this.#suspectRuns = true;
    return taken !== 'nothing';
  }

  async #claim(calls: readonly Entry[][]): Promise<void> {
    const requests = calls.flat().map((entry) => this.#request(entry));
    const askedAtMs = performance.now();
    let rows: ClaimedRow[];
    try {
      rows = await this.parts.store.claim(requests);
    } catch (error) {
      this.#claimFailed(calls, error);
      return;
    }
    this.#failures = 0;
    this.#trouble.worked();
    // What fires often keeps its own clock right: no other statement answers as soon as a claim.
    if (rows[0]) this.parts.clock.sample(askedAtMs, performance.now(), rows[0].now_ms);
    const claimed = new Map(rows.map((row) => [row.id, row]));
    const missing: Entry[] = [];
    for (const { id } of rows) this.parts.lostClaims.forget(id);
    for (const call of calls) this.#begin(call, claimed, askedAtMs, missing);
    if (missing.length > 0) {
      await this.parts.missed.lookAfter(missing, (wake) => this.offer(wake, 'read'));
    }
  }

  #request(entry: Entry): ClaimRequest {
    entry.place = 'claiming';
    const handler = this.parts.registry.get(entry.name);
    if (handler === undefined) throw new Error(`no handler for ${entry.name}`);
    return {
      id: entry.id,
      epoch: entry.epoch,
      leaseMs: handler.leaseMs,
      maxAttempts: handler.maxAttempts,
    };
  }

  /** @param missing gets the entries that were not claimed */
  #begin(
    entries: readonly Entry[],
    claimed: ReadonlyMap<number, ClaimedRow>,
    askedAtMs: number,
    missing: Entry[],
  ): void {
    const [first] = entries as [Entry];
    const attempts: Attempt[] = [];
    for (const entry of entries) {
      const row = claimed.get(entry.id);
      if (row === undefined) missing.push(entry);
      else {
        this.parts.readAhead.forget(entry);
        const attempt = this.#attempt(row, askedAtMs);
        if (attempt !== undefined) attempts.push(attempt);
      }
    }
    const call = callOf(attempts);
    if (call === undefined) return this.#giveSlot(first);
    const { inFlight, executor } = this.parts;
    for (const attempt of attempts) inFlight.add(attempt);
    executor.run(call, {
      onDecided: () => {
        for (const attempt of attempts) inFlight.delete(attempt);
      },
      onVacant: () => this.#giveSlot(first),
    });
  }

  /** Undefined when it is too late to begin: then the row is given back. */
  #attempt(row: ClaimedRow, askedAtMs: number): Attempt | undefined {
    const { registry, clock, acknowledger } = this.parts;
    const handler = registry.get(row.name);
    const leaseEndsAtMs = askedAtMs + (handler?.leaseMs ?? 0);
    // This process may have stood still while the answer was on its way: others have the row by now,
    // or a caller was told that it is cancelled.
    const isOver = leaseEndsAtMs <= performance.now();
    if (handler === undefined || isOver || this.#stopped) {
      acknowledger.giveBack(row.id, row.epoch);
      return undefined;
    }
    // The claim has proven that it was due; the estimate of the clock may be a little behind.
    const startedMs = Math.max(clock.nowMs(), row.now_ms);
    return new Attempt(row, handler, leaseEndsAtMs, startedMs - row.due_ms);
  }

  /**
   * Whether it is the row of a claim of which nobody heard, committed after that was given up. While
   * another claim of it is on its way, that one's answer says what became of the row.
   */
  #giveBackLost({ id, epoch }: Wake): boolean {
    const { acknowledger, lostClaims, readAhead } = this.parts;
    if (!lostClaims.has(id, epoch) || readAhead.isClaiming(id)) return false;
    lostClaims.forget(id);
    acknowledger.giveBack(id, epoch);
    return true;
  }

  #giveSlot(entry: Entry): void {
    if (entry.suspect) this.#suspectRuns = false;
    this.#pace.ended(entry);
    this.parts.slots.give(entry.name);
    this.dispatch();
  }

  /**
   * Nobody knows whether the claim was committed. If it was, the rows are leased to this node under
   * the next epoch and no attempt has started: they are given back. Only then are they looked at
   * again: a claim in between would get that same epoch, and the giving back would hit it. It may be
   * committed later than that: what is not given back now is remembered.
   */
  #claimFailed(calls: readonly Entry[][], error: unknown): void {
    const { acknowledger, lostClaims, readAhead } = this.parts;
    this.#failures += 1;
    this.#trouble.failed(error);
    const pauseMs = retryPauseMs(this.#failures);
    for (const entry of calls.flat()) {
      lostClaims.add(entry.id, entry.epoch + 1);
      acknowledger.giveBack(entry.id, entry.epoch + 1, () => readAhead.again(entry, pauseMs));
    }
    for (const [first] of calls as [Entry][]) this.#giveSlot(first);
    this.#claiming.pauseFor(pauseMs);
  }
}
