import { performance } from 'node:perf_hooks';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { Signal } from '../tasks/signal.js';

/** A reading of the database's clock: when its answer came, the offset, and its possible error. */
interface Sample {
  heardAtMs: number;
  offsetMs: number;
  errorMs: number;
}

/** Two ordinary quartz clocks drift apart by less than this: a reading gets worse with its age. */
const DRIFT = 100e-6;

/** Slack for drift between two readings before a difference counts as a jump. */
const JUMP_MS = 50;

/**
 * Estimates the database's clock, the only clock that decides what is due. The node's wall clock is
 * never read; between two readings the monotonic clock carries on.
 *
 * A reading lies between request and answer, so its midpoint is wrong by at most half of the round
 * trip (Cristian 1989), less half of the time between two readings of one statement. The reading
 * with the smallest possible error wins.
 */
export class DatabaseClock {
  /** The database's clock has jumped, by so many ms: a failover, or it was set. */
  readonly jumped = new Signal<number>();
  #best: Sample | undefined;

  /**
   * Takes the readings of one statement.
   * @param askedAtMs `performance.now()` before the statement was sent
   * @param heardAtMs `performance.now()` after its answer came
   * @param databaseMs the database's `clock_timestamp()`, milliseconds since 1970
   * @param laterMs the same, read again towards the end of the statement
   */
  sample(askedAtMs: number, heardAtMs: number, databaseMs: number, laterMs = databaseMs): void {
    const mostMs = databaseMs - askedAtMs;
    const leastMs = laterMs - heardAtMs;
    const errorMs = Math.max(0, mostMs - leastMs) / 2;
    const sample = { heardAtMs, offsetMs: leastMs / 2 + mostMs / 2, errorMs };
    const before = this.#best;
    const apartMs = before === undefined ? 0 : sample.offsetMs - before.offsetMs;
    const jumped = before !== undefined && Math.abs(apartMs) > before.errorMs + errorMs + JUMP_MS;
    // Both readings get worse at the same rate, so the worse one stays the worse one.
    const offBy = (of: Sample): number => of.errorMs + (heardAtMs - of.heardAtMs) * DRIFT;
    if (before === undefined || jumped || offBy(sample) <= offBy(before)) this.#best = sample;
    if (CHECKED) invariant(Number.isFinite(sample.offsetMs), 'the offset of a clock', databaseMs);
    if (jumped) this.jumped.emit(apartMs);
  }

  /** Milliseconds since 1970 on the database's clock, now. */
  nowMs(): number {
    return performance.now() + this.#offsetMs();
  }

  /**
   * A lower bound of the clock that uses no estimate: a statement read `readMs` before its answer
   * came, at `heardAtMs` of `performance.now()`.
   */
  afterReading(readMs: number, heardAtMs: number): { readMs: number; leastMs(): number } {
    const leastMs = (): number => readMs + (performance.now() - heardAtMs) * (1 - DRIFT);
    return { readMs, leastMs };
  }

  /** The `performance.now()` at which the database's clock shows `databaseMs`. */
  toMonotonicMs(databaseMs: number): number {
    return databaseMs - this.#offsetMs();
  }

  #offsetMs(): number {
    if (this.#best === undefined) throw new Error('the database clock has not been read yet');
    return this.#best.offsetMs;
  }
}
