import { Records } from './records.js';
import { Slots } from './slots.js';

const INDEX_SPAN = 2 ** 24;
const MAX_TICK = Number.MAX_SAFE_INTEGER;
const NO_RECORD = 0;

/** What {@link TimingWheel.add} answers when the wheel is full. Never a handle; `false` in an `if`. */
export const NO_TIMER = 0;

/** What {@link TimingWheel.evictFarthest} answers when it evicted nothing. */
export const NO_INDEX = -1;

interface TimingWheelOptions {
  /**
   * Most timers at once, 1 to 16,777,216. Memory grows by doubling up to 65,536 timers, then the
   * rest is reserved at once, and the system commits it as it is used: 16 bytes each, 20 in a wheel
   * that holds one beyond its reach.
   */
  capacity: number;
  /** Where time starts, on the caller's scale. Default 0. */
  originMs?: number;
  /** A deadline is rounded up to the next of so many ticks of a millisecond. Default 1. */
  ticksPerMs?: number;
  /** Most records that one `advance` moves to finer slots. Default 4,096. */
  cascadeLimit?: number;
}

/**
 * A hierarchical timing wheel (Varghese & Lauck, "Hashed and Hierarchical Timing Wheels", SOSP
 * 1987, scheme 7): add, cancel and move in constant time, whatever the number of timers.
 *
 * ```
 *           1,024 slots of   reach, at a tick per millisecond
 * level 0   1 ms             1.02 s      |.........x..x......|   fires
 * level 1   1.02 s           17.5 min    |..x................|   each slot spreads over level 0
 * level 2   17.5 min         12.4 days   |....x..............|                         level 1
 * level 3   12.4 days        34.8 years  |.x.................|                         level 2
 * beyond    one list, looked at again when the 34.8 years have passed
 * ```
 *
 * Every level covers one aligned block of the level above, the one the cursor stands in: a timer's
 * level is the highest group of ten bits in which its tick differs from the cursor. So a slot
 * never wraps around, all of level n is earlier than all of level n + 1, and the next expiry is
 * the first occupied slot of the lowest occupied level. Empty time costs nothing (tickless), be it a
 * millisecond or a year.
 *
 * It is pure: time is passed in, nothing in here reads a clock, sets a timer or runs a callback. All
 * lies in typed arrays, so there is nothing for the garbage collector to trace: {@link Records} are
 * the timers and the lists that they form, {@link Slots} know which stands where.
 *
 * Times are milliseconds on any one scale. Deadlines are rounded up to whole ticks: a timer never
 * fires early. Within a tick timers fire in the order in which they were added.
 *
 * ```ts
 * const wheel = new TimingWheel({ capacity: 1_000_000 });
 * const handle = wheel.add(1_500);
 * const expired = new Int32Array(256);
 * const count = wheel.advance(1_500, expired); // 1
 * expired[0] === wheel.indexOf(handle); // true
 * ```
 */
export class TimingWheel {
  readonly #ticksPerMs: number;
  readonly #originTick: number;
  readonly #cascadeLimit: number;
  readonly #records: Records;
  readonly #slots: Slots;

  /** @throws RangeError when an option is out of its range */
  constructor(options: TimingWheelOptions) {
    const { capacity, originMs = 0, ticksPerMs = 1, cascadeLimit = 4_096 } = options;
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > INDEX_SPAN)
      throw new RangeError(`capacity must be an integer from 1 to ${INDEX_SPAN}`);
    if (!Number.isFinite(originMs) || !Number.isInteger(ticksPerMs) || !(cascadeLimit >= 1))
      throw new RangeError(
        'originMs must be finite, ticksPerMs an integer, cascadeLimit at least 1',
      );
    this.#ticksPerMs = ticksPerMs;
    this.#originTick = Math.floor(originMs * ticksPerMs);
    this.#cascadeLimit = cascadeLimit;
    this.#records = new Records(capacity);
    this.#slots = new Slots(this.#records);
  }

  /** Timers that wait. */
  get size(): number {
    return this.#records.count;
  }

  /** Every index is below it. It grows; owners size their parallel arrays by it. */
  get allocated(): number {
    return this.#records.allocated;
  }

  /** The place of a timer in its owner's parallel arrays, 0 to `allocated` − 1. */
  indexOf(handle: number): number {
    return handle & (INDEX_SPAN - 1);
  }

  /**
   * @param deadlineMs in the past: fires at the next advance. `Infinity`: as good as never.
   * @returns a handle, good until the timer fires or is cancelled; {@link NO_TIMER} when full
   * @throws RangeError when `deadlineMs` is NaN
   */
  add(deadlineMs: number): number {
    const tick = this.#tickOf(deadlineMs);
    const record = this.#records.take();
    if (record === NO_RECORD) return NO_TIMER;
    this.#slots.place(record, tick);
    return this.#records.handleOf(record);
  }

  /** @returns `false`, without effect, when the timer fired, was cancelled or never was */
  cancel(handle: number): boolean {
    const record = this.#records.find(handle);
    if (record === NO_RECORD) return false;
    this.#slots.remove(record);
    this.#records.release(record);
    return true;
  }

  /**
   * Gives a waiting timer another deadline; its handle stays good.
   *
   * @returns `false`, without effect, when the timer fired, was cancelled or never was
   * @throws RangeError when `deadlineMs` is NaN
   */
  move(handle: number, deadlineMs: number): boolean {
    const tick = this.#tickOf(deadlineMs);
    const record = this.#records.find(handle);
    if (record === NO_RECORD) return false;
    this.#slots.remove(record);
    this.#slots.place(record, tick);
    return true;
  }

  /**
   * Takes out the timers with a deadline up to `nowMs`, in the order of their deadlines (a deadline
   * that was past when it was added counts as that moment). Bounded: at most as many timers
   * fire as `expired` has room for, and at most `cascadeLimit` records move. Call it again while `nextExpiry() <= nowMs`. A `nowMs`
   * before an earlier one does nothing.
   *
   * @param expired gets the indexes. Those timers are gone: read parallel arrays before the next
   *   `add`, which uses the same indexes again.
   * @returns how many indexes were written
   */
  advance(nowMs: number, expired: Int32Array): number {
    const target = Math.min(Math.floor(nowMs * this.#ticksPerMs) - this.#originTick, MAX_TICK);
    if (!(target >= this.#slots.tick)) return 0;
    return this.#slots.advance(target, expired, this.#cascadeLimit);
  }

  /**
   * A time at or before the earliest deadline, when `advance` should be called: the deadline itself
   * on level 0, the start of its slot on the others. `Infinity` when no timer waits.
   */
  nextExpiry(): number {
    return this.size === 0
      ? Infinity
      : (this.#originTick + this.#slots.nextTick) / this.#ticksPerMs;
  }

  /**
   * Makes room when the wheel is full: takes out a timer of the last occupied slot. That is the
   * farthest one to within the slot's width: exact on level 0, to 1.02 s on level 1, and so on.
   *
   * @param afterMs only when that timer's deadline is later than this, for example the deadline
   *   of the timer that wants its place
   * @returns the index it had, {@link NO_INDEX} when nothing was evicted
   */
  evictFarthest(afterMs: number): number {
    const record = this.#slots.farthest(Math.ceil(afterMs * this.#ticksPerMs) - this.#originTick);
    if (record === NO_RECORD) return NO_INDEX;
    this.#slots.remove(record);
    this.#records.release(record);
    return this.#records.indexOf(record);
  }

  #tickOf(deadlineMs: number): number {
    const tick = Math.ceil(deadlineMs * this.#ticksPerMs) - this.#originTick;
    if (tick > this.#slots.tick) return tick > MAX_TICK ? MAX_TICK : tick;
    if (Number.isNaN(tick)) throw new RangeError('deadlineMs must be a number, not NaN');
    return this.#slots.tick;
  }
}
