import { groupText } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { Trigger } from '../tasks/recurring-task.js';
import type { AdmittedCall, Admission } from './admission.js';
import { type Attempt, Call } from './call.js';
import type { Claimed, Claimer } from './claimer.js';
import type { InFlight, Outcome } from './claims.js';
import type { Completer } from './completer.js';
import type { Entry } from './fair-queue.js';
import type { Executor } from './executor.js';
import type { MissedClaims } from './missed-claims.js';
import type { Scanner } from './scanner.js';
import type { TimerQueue } from './timer-queue.js';

/** Claims in flight: one is answered while the rows of the next one become due. */
const CLAIMS_MAX = 2;

/** Outcomes that are not written yet; with more of them the loop claims nothing. */
const UNWRITTEN_MAX = 10_000;

/** A prefetched call that waits longer for its slot is given back: its handlers have become slower. */
export const WAITS_MAX_MS = 250;

/** Prefetched calls begin one after the other for this long, then other work has its turn. */
const TURN_MS = 10;

const GIVEN_BACK: Outcome = { kind: 'unbegun', error: undefined, waitMs: 0 };

/** A prefetched call without a slot. */
interface Waiting {
  call: Call;
  reservation: AdmittedCall;
  /** `performance.now()` when its claim was answered. */
  sinceMs: number;
}

export interface LoopParts {
  queue: Pick<TimerQueue, 'forget' | 'hasRoomBehind' | 'putBack' | 'shut'>;
  admission: Pick<Admission, 'admit' | 'prefetch'>;
  claimer: Pick<Claimer, 'attempt' | 'claim' | 'stop' | 'whenAnotherWorks'>;
  missed: Pick<MissedClaims, 'lookAfter'>;
  executor: Pick<Executor, 'end' | 'run'>;
  completer: Pick<Completer, 'size'>;
  inFlight: Pick<InFlight, 'add'>;
  scanner: Pick<Scanner, 'goOn'>;
}

/**
 * The life of a delay, from due to done:
 *
 * ```text
 *   fetch ──► timer queue ──due──► admit ──► claim ──► execute ──► complete ──► row removed, or wakes again
 *  (loads, scans,                    ▲         │          │           │
 *   hints, commits)                  └─────────┴── wake ──┴───────────┘
 * ```
 *
 * Every part that makes a claim possible calls {@link Loop.wake}: an entry is due, a call has given its slot back, a
 * limit has capacity, an outcome was written. The loop runs once for all wakes of a turn of the event loop.
 */
export class Loop {
  readonly #claims = new Set<Promise<void>>();
  readonly #turn = new Trigger(() => this.#run());
  /** Prefetched calls by name, in the order in which they begin. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #beginning = new Set<string>();
  readonly #nextTurn = new Trigger(() => {
    for (const name of this.#waiting.keys()) this.#beginWaiting(name);
  });
  readonly #late = new Trigger(() => this.#giveBackLate());
  #isWatching = false;
  /** Tests change it. */
  waitsMaxMs = WAITS_MAX_MS;

  constructor(private readonly parts: LoopParts) {}

  /** Something may be claimed: claims it later in this turn of the event loop. */
  wake(): void {
    this.#turn.trigger();
  }

  /** A call of that name has given its slot back: the next one that waits begins at once. */
  slotFreed(name: string): void {
    this.#beginWaiting(name);
    this.wake();
  }

  /** Claims nothing more, gives back what waits for a slot, and resolves when the claims in flight were answered. */
  async stop(): Promise<void> {
    this.parts.queue.shut();
    this.parts.claimer.stop();
    for (const each of [this.#turn, this.#late, this.#nextTurn]) each.stop();
    for (const waiting of this.#waiting.values()) {
      for (const each of waiting) this.#leave(each, GIVEN_BACK);
    }
    await this.whenAnswered();
  }

  get isClaiming(): boolean {
    return this.#claims.size > 0;
  }

  /** Resolves when no claim is in flight. */
  async whenAnswered(): Promise<void> {
    while (this.isClaiming) await Promise.all(this.#claims);
  }

  #run(): void {
    const { queue, admission, scanner } = this.parts;
    let pauseLeftMs = Infinity;
    while (this.#mayClaim) {
      const admitted = admission.admit(performance.now());
      pauseLeftMs = Math.min(pauseLeftMs, admitted.pauseLeftMs);
      if (admitted.calls.length === 0) break;
      const claim = this.#claim(admitted.calls).finally(() => {
        this.#claims.delete(claim);
        this.wake();
      });
      this.#claims.add(claim);
      if (CHECKED) invariant(this.#claims.size <= CLAIMS_MAX, 'claims', this.#claims.size);
    }
    this.#turn.triggerIn(pauseLeftMs);
    if (queue.hasRoomBehind) scanner.goOn();
  }

  get #mayClaim(): boolean {
    return this.#claims.size < CLAIMS_MAX && this.parts.completer.size < UNWRITTEN_MAX;
  }

  /** Claims the entries of these calls, and begins each call with the rows that it got. */
  async #claim(calls: readonly AdmittedCall[]): Promise<void> {
    const { queue, claimer, missed } = this.parts;
    const claimed = await claimer.claim(calls.flatMap(({ entries }) => entries));
    if ('pauseMs' in claimed) {
      for (const call of calls) call.release();
      this.#turn.pauseFor(claimed.pauseMs);
      claimer.whenAnotherWorks(() => this.#turn.resume());
      return;
    }
    const unclaimed: Entry[] = [];
    for (const call of calls) this.#begin(call, claimed, unclaimed);
    if (unclaimed.length === 0) return;
    queue.putBack(unclaimed.filter((entry) => isThrottled(entry, claimed)));
    const missing = unclaimed.filter((entry) => entry.state === 'claiming');
    if (missing.length > 0) await missed.lookAfter(missing);
  }

  /** @param unclaimed receives the entries whose rows were not claimed */
  #begin(reservation: AdmittedCall, { rows, askedAtMs }: Claimed, unclaimed: Entry[]): void {
    const { queue, claimer } = this.parts;
    const attempts: Attempt[] = [];
    for (const entry of reservation.entries) {
      const row = rows.get(entry.id);
      if (row === undefined) unclaimed.push(entry);
      else {
        if (CHECKED) invariant(row.epoch > entry.epoch, 'a claim raises the epoch', row.epoch);
        queue.forget(entry);
        const attempt = claimer.attempt(row, askedAtMs);
        if (attempt !== undefined) attempts.push(attempt);
      }
    }
    const [first] = attempts;
    if (CHECKED) {
      invariant(
        attempts.every(({ handler }) => handler === first?.handler),
        'a call has one handler',
      );
    }
    if (first === undefined) reservation.release();
    else this.beginCall(new Call(first.handler, attempts, reservation), reservation);
  }

  /** Executes a call, or lets it wait for its slot. The completer writes its outcome and wakes the loop. */
  beginCall(call: Call, reservation: AdmittedCall): void {
    const { name } = call.handler;
    const hasOthers = (this.#waiting.get(name)?.size ?? 0) > 0;
    if (reservation.takeSlot(!hasOthers)) return this.#execute(call);
    if (hasOthers) this.#nextTurn.trigger();
    const waiting = { call, reservation, sinceMs: performance.now() };
    call.onCut = (outcome) => this.#leave(waiting, outcome);
    for (const attempt of call.attempts) this.parts.inFlight.add(attempt);
    const others = this.#waitingOf(name);
    // A process that dies spends the attempts that wait: calls on their last attempt go first.
    if (isLast(call)) this.#waiting.set(name, new Set([waiting, ...others]));
    else others.add(waiting);
    this.#watch();
  }

  /**
   * Begins the prefetched calls of a name that have a slot by now. A handler that returns no promise frees its slot
   * while this runs: the next call begins in this loop, not inside of the first.
   */
  #beginWaiting(name: string): void {
    const waiting = this.#waiting.get(name);
    if (waiting === undefined || this.#beginning.has(name)) return;
    this.#beginning.add(name);
    const endsAtMs = performance.now() + TURN_MS;
    try {
      for (const next of waiting) {
        if (performance.now() >= endsAtMs) return this.#nextTurn.trigger();
        if (!next.reservation.takeSlot()) break;
        waiting.delete(next);
        next.call.onCut = undefined;
        const waitedMs = performance.now() - next.sinceMs;
        for (const attempt of next.call.attempts) attempt.latenessMs += waitedMs;
        this.#execute(next.call);
      }
    } finally {
      this.#beginning.delete(name);
    }
  }

  /** The process may have stood still since the claim: other nodes have rows whose lease has ended. */
  #execute(call: Call): void {
    if (call.leaseEndsAtMs <= performance.now()) this.parts.executor.end(call, GIVEN_BACK);
    else this.parts.executor.run(call);
  }

  #leave(waiting: Waiting, outcome: Outcome): void {
    this.#waiting.get(waiting.call.handler.name)?.delete(waiting);
    this.parts.executor.end(waiting.call, outcome);
  }

  #waitingOf(name: string): Set<Waiting> {
    let waiting = this.#waiting.get(name);
    if (waiting === undefined) this.#waiting.set(name, (waiting = new Set()));
    return waiting;
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#late.triggerIn(this.waitsMaxMs);
  }

  #giveBackLate(): void {
    this.#isWatching = false;
    const lateMs = performance.now() - this.waitsMaxMs;
    for (const [name, waiting] of this.#waiting) {
      for (const each of waiting) {
        if (each.sinceMs > lateMs) continue;
        this.parts.admission.prefetch.isSlow(name);
        this.#leave(each, GIVEN_BACK);
      }
      if (waiting.size > 0) this.#watch();
    }
  }
}

const isThrottled = ({ name, group }: Entry, { full }: Claimed): boolean =>
  full.has(groupText(name, null)) || (group !== null && full.has(groupText(name, group)));

const isLast = ({ attempts }: Call): boolean =>
  attempts.some(({ row }) => row.attempts >= row.max_attempts);
