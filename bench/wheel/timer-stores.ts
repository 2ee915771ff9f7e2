import { TimingWheel } from '../../src/delay-queue/core/timer-wheel/timing-wheel.js';
import { QuadHeap } from './quad-heap.js';

/** How long firing took in all, and the longest that the event loop stood still. */
export interface Firing {
  totalMs: number;
  longestMs: number;
  /** The longest of those during which no other process ran. */
  undisturbedMs: number;
}

/**
 * What is compared. The loops are inside: one call per timer through a common interface would cost
 * as much as what is measured. `which` names timers by number, 0 to count − 1.
 */
export interface TimerStore {
  addAll(which: Int32Array, deadlinesMs: Float64Array): void;
  cancelAll(which: Int32Array): void;
  /** Fires what waits, as time passes from one expiry to the next; undefined: cannot be measured. */
  fireSpread(): Firing | undefined;
  /** Fires `deadlinesMs.length` timers whose deadlines lie close together. */
  fireDense(which: Int32Array, deadlinesMs: Float64Array): Firing | Promise<Firing>;
}

/** What one `advance` may fire, as in the driver. */
const EXPIRED_PER_ADVANCE = 1_024;

/** The part that the wheel and the heap share: virtual time. */
interface Advancing {
  readonly size: number;
  nextExpiry(): number;
  advance(nowMs: number, expired: Int32Array): number;
}

function fireAll(timers: Advancing): Firing {
  const expired = new Int32Array(EXPIRED_PER_ADVANCE);
  const startMs = performance.now();
  let beforeMs = startMs;
  const longest = new Longest();
  while (timers.size > 0) {
    timers.advance(Math.ceil(timers.nextExpiry()), expired);
    const afterMs = performance.now();
    longest.add(afterMs - beforeMs);
    beforeMs = afterMs;
  }
  const totalMs = performance.now() - startMs;
  return { totalMs, longestMs: longest.seenMs, undisturbedMs: longest.undisturbedMs };
}

export class WheelStore implements TimerStore {
  #wheel: TimingWheel;
  readonly #handles: Float64Array;

  constructor(private readonly count: number) {
    this.#wheel = new TimingWheel({ capacity: count });
    this.#handles = new Float64Array(count);
  }

  addAll(which: Int32Array, deadlinesMs: Float64Array): void {
    for (const timer of which) this.#handles[timer] = this.#wheel.add(deadlinesMs[timer]!);
  }

  cancelAll(which: Int32Array): void {
    for (const timer of which) this.#wheel.cancel(this.#handles[timer]!);
  }

  fireSpread(): Firing {
    return fireAll(this.#wheel);
  }

  fireDense(which: Int32Array, deadlinesMs: Float64Array): Firing {
    this.#wheel = new TimingWheel({ capacity: this.count });
    this.addAll(which, deadlinesMs);
    return fireAll(this.#wheel);
  }
}

export class HeapStore implements TimerStore {
  readonly #heap: QuadHeap;

  constructor(count: number) {
    this.#heap = new QuadHeap(count);
  }

  addAll(which: Int32Array, deadlinesMs: Float64Array): void {
    for (const timer of which) this.#heap.add(timer, deadlinesMs[timer]!);
  }

  cancelAll(which: Int32Array): void {
    for (const timer of which) this.#heap.cancel(timer);
  }

  fireSpread(): Firing {
    return fireAll(this.#heap);
  }

  fireDense(which: Int32Array, deadlinesMs: Float64Array): Firing {
    this.addAll(which, deadlinesMs);
    return fireAll(this.#heap);
  }
}

/** Node's own. Its clock cannot be moved: only what is overdue can be fired at once. */
export class NodeStore implements TimerStore {
  readonly #timeouts: (NodeJS.Timeout | undefined)[];
  #left = 0;
  #whenFired: (() => void) | undefined;
  readonly #onTimeout = (): void => {
    if (--this.#left === 0) this.#whenFired?.();
  };

  constructor(count: number) {
    this.#timeouts = Array.from({ length: count });
  }

  addAll(which: Int32Array, deadlinesMs: Float64Array): void {
    for (const timer of which) {
      this.#timeouts[timer] = setTimeout(this.#onTimeout, deadlinesMs[timer]);
    }
  }

  cancelAll(which: Int32Array): void {
    for (const timer of which) clearTimeout(this.#timeouts[timer]);
  }

  fireSpread(): undefined {
    for (const timeout of this.#timeouts) clearTimeout(timeout);
    this.#timeouts.fill(undefined);
  }

  /** Stands still until all are overdue: then Node runs them in one go, timed first to last. */
  async fireDense(which: Int32Array, deadlinesMs: Float64Array): Promise<Firing> {
    this.#left = which.length;
    const fired = new Promise<number>((resolve) => {
      this.#whenFired = () => resolve(performance.now());
    });
    const begun = new Promise<number>((resolve) => {
      setTimeout(() => resolve(performance.now()), 0);
    });
    this.addAll(which, deadlinesMs);
    const overdueMs = performance.now() + deadlinesMs.reduce((a, b) => Math.max(a, b), 0) + 2;
    while (performance.now() < overdueMs);
    const totalMs = (await fired) - (await begun);
    return { totalMs, longestMs: totalMs, undisturbedMs: Number.NaN };
  }
}

/** How long steps are gathered before the system is asked about them, which takes microseconds. */
const GATHERED_MS = 0.25;

/**
 * The longest of many short steps, as it was seen, and as it was while this process had a processor
 * to itself. On a busy machine the first says how long others were let in: a time slice of theirs is
 * longer than most steps. Steps are gathered, and those among which the system interrupted the
 * process do not count for the second. What a hypervisor takes is invisible, and counts.
 */
export class Longest {
  seenMs = 0;
  undisturbedMs = 0;
  #gatheredMs = 0;
  #longestGatheredMs = 0;
  #interruptions = interruptions();

  add(stepMs: number): void {
    if (stepMs > this.seenMs) this.seenMs = stepMs;
    if (stepMs > this.#longestGatheredMs) this.#longestGatheredMs = stepMs;
    this.#gatheredMs += stepMs;
    if (this.#gatheredMs < GATHERED_MS) return;
    const now = interruptions();
    if (now === this.#interruptions && this.#longestGatheredMs > this.undisturbedMs)
      this.undisturbedMs = this.#longestGatheredMs;
    this.#interruptions = now;
    this.#gatheredMs = this.#longestGatheredMs = 0;
  }
}

function interruptions(): number {
  return process.resourceUsage().involuntaryContextSwitches;
}
