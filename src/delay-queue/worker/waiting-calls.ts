import { Trigger } from '../tasks/recurring-task.js';
import type { Reservation, Reservations } from './admission.js';
import type { Call } from './call.js';
import type { InFlight, Outcome } from './claims.js';
import type { Executor } from './executor.js';

/** A call that waits for longer is given back: its handlers have become slower than they were. */
export const WAITS_MAX_MS = 250;

/** So long calls begin one after the other before other work has its turn. */
const TURN_MS = 10;

const GIVEN_BACK: Outcome = { kind: 'unbegun', error: undefined, waitMs: 0 };

interface Waiting {
  call: Call;
  reservation: Reservation;
  /** `performance.now()` when its claim was answered. */
  sinceMs: number;
}

/** Calls that were claimed ahead of their places: each begins when one of its name ends, in their order. */
export class WaitingCalls {
  readonly #lines = new Map<string, Set<Waiting>>();
  readonly #beginning = new Set<string>();
  readonly #late = new Trigger(() => this.#giveBackLate());
  readonly #nextTurn = new Trigger(() => {
    for (const name of this.#lines.keys()) this.#beginNext(name);
  });
  #isWatching = false;

  constructor(
    private readonly reservations: Reservations,
    private readonly executor: Executor,
    private readonly inFlight: InFlight,
  ) {
    reservations.freed.on((name) => this.#beginNext(name));
  }

  /** Begins a call if it has a place, or lets it wait for one. */
  begin(call: Call, reservation: Reservation): void {
    const { name } = call.handler;
    const hasOthers = (this.#lines.get(name)?.size ?? 0) > 0;
    if (reservation.takePlace(!hasOthers)) return this.#run(call);
    if (hasOthers) this.#nextTurn.trigger();
    const waiting = { call, reservation, sinceMs: performance.now() };
    call.onCut = (outcome) => this.#leave(waiting, outcome);
    for (const attempt of call.attempts) this.inFlight.add(attempt);
    const line = this.#lineOf(name);
    // A process that dies spends the attempts that wait in it: who has no other one goes first.
    if (isLast(call)) this.#lines.set(name, new Set([waiting, ...line]));
    else line.add(waiting);
    this.#watch();
  }

  /** Gives all of them back. */
  stop(): void {
    for (const each of [this.#late, this.#nextTurn]) each.stop();
    for (const line of this.#lines.values()) {
      for (const waiting of line) this.#leave(waiting, GIVEN_BACK);
    }
  }

  /** A handler that returns no promise frees its place while this runs: the next begins in this loop, not inside of the first. */
  #beginNext(name: string): void {
    const line = this.#lines.get(name);
    if (line === undefined || this.#beginning.has(name)) return;
    this.#beginning.add(name);
    const endsAtMs = performance.now() + TURN_MS;
    try {
      for (const waiting of line) {
        if (performance.now() >= endsAtMs) return this.#nextTurn.trigger();
        if (!waiting.reservation.takePlace()) break;
        this.#begin(waiting, line);
      }
    } finally {
      this.#beginning.delete(name);
    }
  }

  #begin(waiting: Waiting, line: Set<Waiting>): void {
    const { call, sinceMs } = waiting;
    line.delete(waiting);
    call.onCut = undefined;
    const waitedMs = performance.now() - sinceMs;
    for (const attempt of call.attempts) attempt.latenessMs += waitedMs;
    this.#run(call);
  }

  /** A handler before it, or the system, may have stopped this process: then others have the row by now. */
  #run(call: Call): void {
    if (call.leaseEndsAtMs <= performance.now()) this.executor.end(call, GIVEN_BACK);
    else this.executor.run(call);
  }

  #leave(waiting: Waiting, outcome: Outcome): void {
    this.#lines.get(waiting.call.handler.name)?.delete(waiting);
    this.executor.end(waiting.call, outcome);
  }

  #lineOf(name: string): Set<Waiting> {
    let line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, (line = new Set()));
    return line;
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#late.triggerIn(WAITS_MAX_MS);
  }

  #giveBackLate(): void {
    this.#isWatching = false;
    const lateMs = performance.now() - WAITS_MAX_MS;
    for (const [name, line] of this.#lines) {
      for (const waiting of line) {
        if (waiting.sinceMs > lateMs) continue;
        this.reservations.ahead.isSlow(name);
        this.#leave(waiting, GIVEN_BACK);
      }
      if (line.size > 0) this.#watch();
    }
  }
}

const isLast = ({ attempts }: Call): boolean =>
  attempts.some(({ row }) => row.attempts >= row.max_attempts);
