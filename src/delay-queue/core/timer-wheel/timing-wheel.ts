import { Records } from './records.js';
import { Slots } from './slots.js';

const INDEX_SPAN = 2 ** 24;
const MAX_TICK = Number.MAX_SAFE_INTEGER;
const NO_RECORD = 0;

/** Returned by {@link TimingWheel.add} when the wheel is full. Never a handle, and falsy. */
export const NO_TIMER = 0;

/** Returned by {@link TimingWheel.evictFarthest} when it evicted nothing. */
export const NO_INDEX = -1;

interface TimingWheelOptions {
  /**
   * Most timers at once, 1 to 16,777,216. Memory doubles up to 65,536 timers. Then the rest is
   * reserved at once, and the system commits it as it is used: 16 bytes per timer, 20 in a wheel
   * that holds one beyond its reach.
   */
  capacity: number;
  /** Start of time, on the caller's scale. Default 0. */
  originMs?: number;
  /** Ticks per millisecond, to which deadlines are rounded up. Default 1. */
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
 * beyond    one list, read again when the 34.8 years have passed
 * ```
 *
 * Every level covers one aligned block of the level above: the block that the cursor is in. A
 * timer's level is the highest group of ten bits in which its tick differs from the cursor. So a
 * slot never wraps around, all of level n is earlier than all of level n + 1, and the next expiry
 * is the first occupied slot of the lowest occupied level. Empty time costs nothing (tickless), be
 * it a millisecond or a year.
 *
 * The wheel is pure: time is passed in, and nothing here reads a clock, sets a timer or runs a
 * callback. All state is in typed arrays, which the garbage collector does not trace: {@link
 * Records} holds the timers and their lists, {@link Slots} knows the slot of each.
 *
 * Times are milliseconds on any one scale. Deadlines are rounded up to whole ticks, so a timer
 * never fires early. Within a tick, timers fire in the order in which they were added.
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

  /** Number of waiting timers. */
  get size(): number {
    return this.#records.count;
  }

  /** Upper bound (exclusive) of all indexes. It grows; owners size their parallel arrays by it. */
  get allocated(): number {
    return this.#records.allocated;
  }

  /** Index of a timer in its owner's parallel arrays, 0 to `allocated` − 1. */
  indexOf(handle: number): number {
    return handle & (INDEX_SPAN - 1);
  }

  /**
   * @param deadlineMs in the past: fires at the next advance. `Infinity`: practically never.
   * @returns a handle, valid until the timer fires or is cancelled; {@link NO_TIMER} when full
   * @throws RangeError when `deadlineMs` is NaN
   */
  add(deadlineMs: number): number {
    const tick = this.#tickOf(deadlineMs);
    const record = this.#records.take();
    if (record === NO_RECORD) return NO_TIMER;
    this.#slots.place(record, tick);
    return this.#records.handleOf(record);
  }

  /** @returns `false`, without effect, when the timer fired, was cancelled or never existed */
  cancel(handle: number): boolean {
    const record = this.#records.find(handle);
    if (record === NO_RECORD) return false;
    this.#slots.remove(record);
    this.#records.release(record);
    return true;
  }

  /**
   * Gives a waiting timer another deadline. Its handle stays valid.
   * @returns `false`, without effect, when the timer fired, was cancelled or never existed
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
   * Removes the timers with a deadline up to `nowMs`, in the order of their deadlines (a deadline
   * that was past when added counts as that time). Bounded: at most `expired.length` timers fire
   * and at most `cascadeLimit` records move. Call it again while `nextExpiry() <= nowMs`. A `nowMs`
   * before an earlier one does nothing.
   *
   * @param expired receives the indexes. Those timers are gone: read parallel arrays before the
   *   next `add`, which reuses the indexes.
   * @returns how many indexes were written
   */
  advance(nowMs: number, expired: Int32Array): number {
    const target = Math.min(Math.floor(nowMs * this.#ticksPerMs) - this.#originTick, MAX_TICK);
    if (!(target >= this.#slots.tick)) return 0;
    return this.#slots.advance(target, expired, this.#cascadeLimit);
  }

  /**
   * When to call `advance` next, at or before the earliest deadline: the deadline itself on level
   * 0, the start of its slot on the others. `Infinity` when no timer waits.
   */
  nextExpiry(): number {
    return this.size === 0
      ? Infinity
      : (this.#originTick + this.#slots.nextTick) / this.#ticksPerMs;
  }

  /**
   * Makes room in a full wheel: removes a timer of the last occupied slot. It is the farthest one
   * to within the slot's width: exact on level 0, to 1.02 s on level 1, and so on.
   *
   * @param afterMs evicts only a timer with a later deadline than this, for example that of the
   *   timer that needs the room
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
