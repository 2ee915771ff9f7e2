const SLOT_BITS = 10;
const SLOTS = 1 << SLOT_BITS;
/** Lists 0 to 4,095 are the slots, level by level; two more hold what stands in no slot. */
const BEYOND = 4 * SLOTS;
const CASCADE = BEYOND + 1;
const LISTS = CASCADE + 1;
const NO_LIST = -1;
/** Milliseconds from one end of a level to the other; beyond the reach: until it moves on. */
const SPANS = [2 ** 10, 2 ** 20, 2 ** 30, 2 ** 40, 2 ** 40];

/** A record is four words. Links are offsets into `records`; the heads of the lists come first. */
const [NEXT, PREV, GENERATION, TICK_LOW] = [0, 1, 2, 3] as const;
const RECORD_SHIFT = 2;
const CASCADE_HEAD = CASCADE << RECORD_SHIFT;
const FREE = -1;

/** A handle is generation × 2^24 + index: 29 + 24 bits, a safe integer. */
const INDEX_SPAN = 2 ** 24;
const MAX_GENERATION = 2 ** 29 - 1;
const MAX_TICK = Number.MAX_SAFE_INTEGER;
const HIGH = 2 ** 32;
const FIRST_BIT = 0x80000000;

/** What {@link TimingWheel.add} answers when the wheel is full. Never a handle; `false` in an `if`. */
export const NO_TIMER = 0;

/** What {@link TimingWheel.evictFarthest} answers when it evicted nothing. */
export const NO_INDEX = -1;

export interface TimingWheelOptions {
  /** Most timers at once, 1 to 16,777,216. Memory grows towards it by doubling, 20 bytes each. */
  capacity: number;
  /** Where time starts, on the caller's scale. Default 0. */
  originMs?: number;
  /** Most records that one `advance` moves to finer slots. Default 4,096. */
  cascadeLimit?: number;
}

/**
 * A hierarchical timing wheel (Varghese & Lauck, "Hashed and Hierarchical Timing Wheels", SOSP
 * 1987, scheme 7): add, cancel and move in constant time, whatever the number of timers.
 *
 * ```
 *           1,024 slots of   reach
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
 * the first occupied slot of the lowest occupied level. Occupancy is 32 words and a summary word
 * per level, first slot in the highest bit: two `clz32` find it, and empty time costs nothing
 * (tickless), be it a millisecond or a year.
 *
 * It is pure: time is passed in, nothing in here reads a clock, sets a timer or runs a callback.
 * Records live in typed arrays, so there is nothing for the garbage collector to trace:
 *
 * ```
 * records   | 4,098 list heads | next prev generation tickLow | next prev generation tickLow | …
 * tickHigh                     | timer 0                      | timer 1                      | …
 * ```
 *
 * Times are milliseconds on any one scale. Deadlines are rounded up to whole milliseconds: a timer
 * never fires early. Within a millisecond timers fire in the order in which they were added.
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
  readonly capacity: number;
  readonly #originMs: number;
  readonly #cascadeLimit: number;
  #records = new Int32Array(LISTS << RECORD_SHIFT);
  #tickHigh = new Uint32Array(0);
  /** Bitmaps of the occupied slots; the list beyond the reach counts as a fifth level's only slot. */
  readonly #words = new Int32Array(5 * 32);
  readonly #summaries = new Int32Array(5);
  /** All ticks before the cursor are done; at the cursor itself timers may still be added. */
  #cursor = 0;
  #cursorLow = 0;
  #cursorHigh = 0;
  /** Above the level that is being spread; 0 when none is. Finer slots must wait for it. */
  #cascadeLevel = 0;
  #free = 0;
  #used = 0;
  #count = 0;

  /** @throws RangeError when an option is out of its range */
  constructor(options: TimingWheelOptions) {
    const { capacity, originMs = 0, cascadeLimit = 4_096 } = options;
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > INDEX_SPAN)
      throw new RangeError(`capacity must be an integer from 1 to ${INDEX_SPAN}`);
    if (!Number.isFinite(originMs) || !(cascadeLimit >= 1))
      throw new RangeError('originMs must be finite, cascadeLimit at least 1');
    this.capacity = capacity;
    this.#originMs = Math.floor(originMs);
    this.#cascadeLimit = cascadeLimit;
    for (let head = 0; head <= CASCADE_HEAD; head += 1 << RECORD_SHIFT) this.#join(head, head);
  }

  /** Timers that wait. */
  get size(): number {
    return this.#count;
  }

  /** Every index is below it. It grows; owners size their parallel arrays by it. */
  get allocated(): number {
    return this.#tickHigh.length;
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
    let record = this.#free;
    if (record !== 0) this.#free = this.#records[record + NEXT]!;
    else if (this.#used < this.#tickHigh.length || this.#grow())
      record = (LISTS + this.#used++) << RECORD_SHIFT;
    else return NO_TIMER;
    // From 1 to the largest and round again; a record that was never used has 0.
    const generation = (this.#records[record + GENERATION]! % MAX_GENERATION) + 1;
    this.#records[record + GENERATION] = generation;
    this.#count++;
    this.#place(record, tick);
    return generation * INDEX_SPAN + ((record >> RECORD_SHIFT) - LISTS);
  }

  /** @returns `false`, without effect, when the timer fired, was cancelled or never was */
  cancel(handle: number): boolean {
    const record = this.#recordOf(handle);
    if (record === 0) return false;
    this.#unlink(record);
    this.#release(record);
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
    const record = this.#recordOf(handle);
    if (record === 0) return false;
    this.#unlink(record);
    this.#place(record, tick);
    return true;
  }

  /**
   * Takes out the timers with a deadline up to `nowMs`, in the order of their deadlines (a deadline
   * that was past when it was added counts as that moment). Bounded: at most `limit` timers fire
   * and at most `cascadeLimit` records move. Call it again while `nextExpiry() <= nowMs`. A `nowMs`
   * before an earlier one does nothing.
   *
   * @param expired gets the indexes. Those timers are gone: read parallel arrays before the next
   *   `add`, which uses the same indexes again.
   * @param limit at most the length of `expired`, which is the default
   * @returns how many indexes were written
   */
  advance(nowMs: number, expired: Int32Array, limit = expired.length): number {
    const target = Math.min(Math.floor(nowMs) - this.#originMs, MAX_TICK);
    if (!(target >= this.#cursor)) return 0;
    const room = Math.min(limit, expired.length);
    let count = 0;
    let moves = this.#cascadeLimit;
    for (;;) {
      if (this.#cascadeLevel !== 0) moves = this.#spread(moves);
      if (this.#cascadeLevel !== 0) return count;
      const list = this.#firstList();
      const start = this.#startOf(list);
      if (start > target) break;
      this.#moveCursor(start);
      if (list >= SLOTS) this.#beginCascade(list);
      else count = this.#fire(list, expired, count, room);
      if (count >= room && this.#firstList() === list) return count;
    }
    this.#moveCursor(target);
    return count;
  }

  /**
   * A time at or before the earliest deadline, when `advance` should be called: the deadline itself
   * on level 0, the start of its slot on the others. `Infinity` when no timer waits.
   */
  nextExpiry(): number {
    if (this.#count === 0) return Infinity;
    const tick = this.#cascadeLevel !== 0 ? this.#cursor : this.#startOf(this.#firstList());
    return this.#originMs + tick;
  }

  /**
   * Makes room when the wheel is full: takes out a timer of the last occupied slot. That is the
   * farthest one to within the slot's width: exact on level 0, to 1.02 s on level 1, and so on.
   *
   * @param afterMs only when that timer's deadline is later than this, for example the deadline
   *   of the timer that wants its place
   * @returns the index it had, {@link NO_INDEX} when nothing was evicted
   */
  evictFarthest(afterMs = -Infinity): number {
    const list = this.#lastList();
    if (list === NO_LIST) return NO_INDEX;
    const record = this.#records[(list << RECORD_SHIFT) + PREV]!;
    const index = (record >> RECORD_SHIFT) - LISTS;
    const tick = this.#tickHigh[index]! * HIGH + (this.#records[record + TICK_LOW]! >>> 0);
    if (this.#originMs + tick <= Math.ceil(afterMs)) return NO_INDEX;
    this.#unlink(record);
    this.#release(record);
    return index;
  }

  #tickOf(deadlineMs: number): number {
    const tick = Math.ceil(deadlineMs) - this.#originMs;
    if (Number.isNaN(tick)) throw new RangeError('deadlineMs must be a number, not NaN');
    return tick < this.#cursor ? this.#cursor : tick > MAX_TICK ? MAX_TICK : tick;
  }

  /** The record of a waiting timer, or 0: the head of list 0 is no timer. */
  #recordOf(handle: number): number {
    const index = handle & (INDEX_SPAN - 1);
    if (index >= this.#used) return 0;
    const record = (LISTS + index) << RECORD_SHIFT;
    if (this.#records[record + PREV] === FREE) return 0;
    return this.#records[record + GENERATION] === (handle - index) / INDEX_SPAN ? record : 0;
  }

  #place(record: number, tick: number): void {
    const high = Math.floor(tick / HIGH);
    const low = tick | 0;
    this.#records[record + TICK_LOW] = low;
    this.#tickHigh[(record >> RECORD_SHIFT) - LISTS] = high;
    const list = this.#listOf(low, high);
    // While a slot is being spread, what belongs under it queues up behind: order is kept.
    this.#append(list >>> SLOT_BITS < this.#cascadeLevel ? CASCADE : list, record);
  }

  /** `list >>> SLOT_BITS` is its level, 4 beyond the reach. */
  #listOf(low: number, high: number): number {
    const differs = low ^ this.#cursorLow;
    const differsHigh = high ^ this.#cursorHigh;
    if (differsHigh > 0xff) return BEYOND;
    if (differsHigh !== 0 || differs >>> 30 !== 0)
      return (3 << SLOT_BITS) | ((high & 0xff) << 2) | (low >>> 30);
    const level = differs >>> 10 === 0 ? 0 : differs >>> 20 === 0 ? 1 : 2;
    return (level << SLOT_BITS) | ((low >>> (level * SLOT_BITS)) & (SLOTS - 1));
  }

  /** The first tick of a list; `Infinity` for {@link NO_LIST}. */
  #startOf(list: number): number {
    if (list === NO_LIST) return Infinity;
    const span = SPANS[list >>> SLOT_BITS]!;
    const block = Math.floor(this.#cursor / span) * span;
    return list === BEYOND ? block + span : block + (list & (SLOTS - 1)) * (span / SLOTS);
  }

  #firstList(): number {
    for (let level = 0; level < 5; level++) {
      const summary = this.#summaries[level]!;
      if (summary === 0) continue;
      const word = (level << 5) | Math.clz32(summary);
      return (word << 5) | Math.clz32(this.#words[word]!);
    }
    return NO_LIST;
  }

  #lastList(): number {
    for (let word = this.#words.length - 1; word >= 0; word--) {
      if (word >>> 5 < this.#cascadeLevel && this.#records[CASCADE_HEAD + NEXT] !== CASCADE_HEAD)
        return CASCADE;
      const bits = this.#words[word]!;
      if (bits !== 0) return (word << 5) | Math.clz32(bits & -bits);
    }
    return NO_LIST;
  }

  #moveCursor(tick: number): void {
    this.#cursor = tick;
    this.#cursorLow = tick | 0;
    this.#cursorHigh = Math.floor(tick / HIGH);
  }

  /** The cursor has reached the list, and all finer slots are empty: its records go there. */
  #beginCascade(list: number): void {
    const from = list << RECORD_SHIFT;
    this.#join(CASCADE_HEAD, this.#records[from + NEXT]!);
    this.#join(this.#records[from + PREV]!, CASCADE_HEAD);
    this.#join(from, from);
    this.#markEmpty(list);
    this.#cascadeLevel = list === BEYOND ? 5 : list >>> SLOT_BITS;
  }

  /** @returns the moves that are left */
  #spread(moves: number): number {
    // Up to level 3 the high word is the cursor's: no need to touch another cache line.
    const far = this.#cascadeLevel > 3;
    let record = this.#records[CASCADE_HEAD + NEXT]!;
    for (; record !== CASCADE_HEAD && moves > 0; moves--) {
      const next = this.#records[record + NEXT]!;
      const low = this.#records[record + TICK_LOW]!;
      const high = far ? this.#tickHigh[(record >> RECORD_SHIFT) - LISTS]! : this.#cursorHigh;
      this.#append(this.#listOf(low, high), record);
      record = next;
    }
    this.#join(CASCADE_HEAD, record);
    if (record === CASCADE_HEAD) this.#cascadeLevel = 0;
    return moves;
  }

  #fire(slot: number, expired: Int32Array, count: number, room: number): number {
    const head = slot << RECORD_SHIFT;
    let record = this.#records[head + NEXT]!;
    while (record !== head && count < room) {
      const next = this.#records[record + NEXT]!;
      expired[count++] = (record >> RECORD_SHIFT) - LISTS;
      this.#release(record);
      record = next;
    }
    this.#join(head, record);
    if (record === head) this.#markEmpty(slot);
    return count;
  }

  #append(list: number, record: number): void {
    const head = list << RECORD_SHIFT;
    const last = this.#records[head + PREV]!;
    this.#join(last, record);
    this.#join(record, head);
    if (last === head && list !== CASCADE) {
      const word = list >>> 5;
      this.#words[word]! |= FIRST_BIT >>> (list & 31);
      this.#summaries[list >>> SLOT_BITS]! |= FIRST_BIT >>> (word & 31);
    }
  }

  #unlink(record: number): void {
    const next = this.#records[record + NEXT]!;
    const prev = this.#records[record + PREV]!;
    this.#join(prev, next);
    // The only record of a list has its head on both sides, and the head's offset names the list.
    if (next === prev && next < CASCADE_HEAD) this.#markEmpty(next >> RECORD_SHIFT);
  }

  #markEmpty(slot: number): void {
    const word = slot >>> 5;
    const left = this.#words[word]! & ~(FIRST_BIT >>> (slot & 31));
    this.#words[word] = left;
    if (left === 0) this.#summaries[slot >>> SLOT_BITS]! &= ~(FIRST_BIT >>> (word & 31));
  }

  #release(record: number): void {
    this.#records[record + NEXT] = this.#free;
    this.#records[record + PREV] = FREE;
    this.#free = record;
    this.#count--;
  }

  /** Makes two records, or heads of lists, neighbours. */
  #join(prev: number, next: number): void {
    this.#records[prev + NEXT] = next;
    this.#records[next + PREV] = prev;
  }

  #grow(): boolean {
    const timers = Math.min(Math.max(1_024, this.#used * 2), this.capacity);
    if (timers === this.#used) return false;
    const [records, tickHigh] = [this.#records, this.#tickHigh];
    this.#records = new Int32Array((LISTS + timers) << RECORD_SHIFT);
    this.#records.set(records);
    this.#tickHigh = new Uint32Array(timers);
    this.#tickHigh.set(tickHigh);
    return true;
  }
}
