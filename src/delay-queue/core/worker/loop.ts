import { WAITS_MAX_MS } from '../handlers/handler.registry.js';
import { groupText } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { Trigger } from '../tasks/trigger.js';
import type { AdmittedCall, SlotKeeper } from './admission.js';
import type { Attempt, Outcome } from './attempt.js';
import { Call } from './call.js';
import type { Claimed, Claimer } from './claimer.js';
import type { Completer } from './completer.js';
import type { Executor } from './executor.js';
import type { Job } from './job.js';
import type { MissedClaims } from './missed-claims.js';
import type { HandlerConnections, NameState, NameStates, WaitingCall } from './name-state.js';
import type { TimerQueue } from './timer-queue.js';

/** Claims in flight: one is answered while the delays of the next become due. */
const CLAIMS_MAX = 2;

/** Unwritten outcomes; with this many the loop claims nothing. */
const UNWRITTEN_MAX = 10_000;

/** Prefetched calls begin in a row for this long, then other work has its turn. */
const TURN_MS = 10;

const GIVEN_BACK: Outcome = { kind: 'unbegun', error: undefined, waitMs: 0 };

export interface LoopParts {
  queue: Pick<TimerQueue, 'claimed' | 'forget' | 'hasRoomBehind' | 'putBack' | 'shut'>;
  slots: Pick<SlotKeeper, 'admit'>;
  names: Pick<NameStates, 'all' | 'connections'>;
  claimer: Pick<Claimer, 'attempt' | 'claim' | 'stop' | 'whenAnotherWorks'>;
  missed: Pick<MissedClaims, 'lookAfter'>;
  executor: Pick<Executor, 'end' | 'run'>;
  completer: Pick<Completer, 'size'>;
  /** What waits for room in the queue. */
  scanner: { goOn(): void };
}

/**
 * The cycle of a delay, from due to done:
 *
 * ```text
 *   fetch ──► timer queue ──due──► admit ──► claim ──► execute ──► complete ──► row removed, or wakes again
 *  (loads, scans,                    ▲         │          │           │
 *   hints, commits)                  └─────────┴── wake ──┴───────────┘
 * ```
 *
 * Every part that makes a claim possible calls {@link Loop.wake}: an entry is due, a call has given
 * its slot back, a limit has capacity, an outcome was written. The loop runs once for all wakes of
 * a turn of the event loop.
 */
export class Loop {
  readonly #claims = new Set<Promise<void>>();
  readonly #turn = new Trigger(() => this.#run());
  readonly #nextTurn = new Trigger(() => {
    for (const name of this.parts.names.all()) this.#beginWaiting(name);
  });
  readonly #late = new Trigger(() => this.#giveBackLate());
  #isWatching = false;
  /** A prefetched call that waits longer than this is given back. */
  readonly waitsMaxMs: number = WAITS_MAX_MS;

  constructor(private readonly parts: LoopParts) {}

  /** Something may be claimed: the loop runs later in this turn of the event loop. */
  wake(): void {
    this.#turn.trigger();
  }

  /** A call of that name has given its slot back: the next prefetched call begins at once. */
  slotFreed(name: NameState): void {
    this.#beginWaiting(name);
    this.wake();
  }

  /** Claims nothing more, gives prefetched calls back, resolves when no claim is in flight. */
  async stop(): Promise<void> {
    this.parts.queue.shut();
    this.parts.claimer.stop();
    for (const each of [this.#turn, this.#late, this.#nextTurn]) each.stop();
    for (const name of this.parts.names.all()) {
      for (const each of name.waiting) this.#leave(name, each, GIVEN_BACK);
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
    const { queue, slots, scanner } = this.parts;
    let pauseLeftMs = Infinity;
    const mayClaim = this.#mayClaim;
    while (this.#mayClaim) {
      const admitted = slots.admit(performance.now());
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
    if (mayClaim) this.#keepNoConnection();
    if (queue.hasRoomBehind) scanner.goOn();
  }

  /** Connections that were kept for delays that are not claimed now go to the next in turn. */
  #keepNoConnection(): void {
    const { connections } = this.parts.names;
    connections.keepNone();
    this.#beginInTurn(connections);
    if (connections.keepsAny) this.wake();
  }

  get #mayClaim(): boolean {
    return this.#claims.size < CLAIMS_MAX && this.parts.completer.size < UNWRITTEN_MAX;
  }

  /** Claims the delays of these calls, and begins each call with the rows that it got. */
  async #claim(calls: readonly AdmittedCall[]): Promise<void> {
    const { queue, claimer, missed } = this.parts;
    const claimed = await claimer.claim(calls.flatMap(({ entries }) => entries));
    if ('pauseMs' in claimed) {
      for (const call of calls) call.release();
      this.#turn.pauseFor(claimed.pauseMs);
      claimer.whenAnotherWorks(() => this.#turn.resume());
      return;
    }
    const unclaimed: Job[] = [];
    for (const call of calls) this.#begin(call, claimed, unclaimed);
    if (unclaimed.length === 0) return;
    queue.putBack(unclaimed.filter((entry) => isThrottled(entry, claimed)));
    const missing = unclaimed.filter((entry) => entry.state === 'claiming');
    if (missing.length > 0) await missed.lookAfter(missing);
  }

  /** @param unclaimed receives the entries whose rows were not claimed */
  #begin(admitted: AdmittedCall, { rows, askedAtMs }: Claimed, unclaimed: Job[]): void {
    const { queue, claimer } = this.parts;
    const attempts: Attempt[] = [];
    for (const entry of admitted.entries) {
      const row = rows.get(entry.id);
      if (row === undefined) unclaimed.push(entry);
      else {
        if (CHECKED) invariant(row.epoch > entry.epoch, 'a claim raises the epoch', row.epoch);
        const attempt = claimer.attempt(row, askedAtMs);
        if (attempt === undefined) queue.forget(entry);
        else {
          queue.claimed(entry, attempt);
          attempts.push(attempt);
        }
      }
    }
    const [first] = attempts;
    if (CHECKED) {
      invariant(
        attempts.every(({ handler }) => handler === first?.handler),
        'a call has one handler',
      );
    }
    if (first === undefined) admitted.release();
    else this.#beginCall(new Call(first.handler, attempts, admitted), admitted);
  }

  /** Executes a call, or makes it wait for its slot. */
  #beginCall(call: Call, admitted: AdmittedCall): void {
    const { name } = admitted;
    const hasOthers = name.waiting.size > 0;
    if (admitted.takeSlot(!hasOthers)) return this.#execute(call);
    if (hasOthers) this.#nextTurn.trigger();
    const waiting = { call, admitted, sinceMs: performance.now() };
    call.onCut = (outcome) => this.#leave(name, waiting, outcome);
    // A process that dies spends the attempts that wait: calls on their last attempt go first.
    if (isLast(call)) name.waiting = new Set([waiting, ...name.waiting]);
    else name.waiting.add(waiting);
    this.#watch();
  }

  /**
   * Begins the prefetched calls of a name for which there are slots. A handler that returns no
   * promise frees its slot while this runs: the next call begins in this loop, not inside of it.
   */
  #beginWaiting(name: NameState): void {
    const { waiting, connections } = name;
    if (connections !== undefined) return this.#beginInTurn(connections);
    if (waiting.size === 0 || name.isBeginning) return;
    name.isBeginning = true;
    const endsAtMs = performance.now() + TURN_MS;
    try {
      for (const next of waiting) {
        if (performance.now() >= endsAtMs) return this.#nextTurn.trigger();
        if (!next.admitted.takeSlot()) break;
        this.#beginAfterWait(name, next);
      }
    } finally {
      name.isBeginning = false;
    }
  }

  /** Begins the prefetched calls of all names for which there are connections. */
  #beginInTurn(connections: HandlerConnections): void {
    // A call whose lease has ended gives its connection back while this runs.
    if (connections.isBeginning) return;
    connections.isBeginning = true;
    try {
      for (let name = connections.next(); name !== undefined; name = connections.next()) {
        const [next] = name.waiting;
        if (CHECKED) invariant(next !== undefined, 'a call waits for its turn', name.name);
        if (next?.admitted.takeSlot() === true) this.#beginAfterWait(name, next);
      }
    } finally {
      connections.isBeginning = false;
    }
  }

  #beginAfterWait(name: NameState, waiting: WaitingCall): void {
    name.waiting.delete(waiting);
    waiting.call.onCut = undefined;
    const waitedMs = performance.now() - waiting.sinceMs;
    for (const attempt of waiting.call.attempts) attempt.latenessMs += waitedMs;
    this.#execute(waiting.call);
  }

  /** If the process stood still since the claim, the row may be another node's by now. */
  #execute(call: Call): void {
    if (call.leaseEndsAtMs <= performance.now()) this.parts.executor.end(call, GIVEN_BACK);
    else this.parts.executor.run(call);
  }

  #leave(name: NameState, waiting: WaitingCall, outcome: Outcome): void {
    name.waiting.delete(waiting);
    this.parts.executor.end(waiting.call, outcome);
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#late.triggerIn(this.waitsMaxMs);
  }

  #giveBackLate(): void {
    this.#isWatching = false;
    const lateMs = performance.now() - this.waitsMaxMs;
    for (const name of this.parts.names.all()) {
      for (const each of name.waiting) {
        if (each.sinceMs > lateMs) continue;
        name.isSlow();
        this.#leave(name, each, GIVEN_BACK);
      }
      if (name.waiting.size > 0) this.#watch();
    }
  }
}

const isThrottled = ({ name, group }: Job, { full }: Claimed): boolean =>
  full.has(groupText(name, null)) || (group !== null && full.has(groupText(name, group)));

const isLast = ({ attempts }: Call): boolean =>
  attempts.some(({ row }) => row.attempts >= row.max_attempts);
