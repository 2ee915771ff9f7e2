import type { Records } from './records.js';

const SLOT_BITS = 10;
const SLOTS = 1 << SLOT_BITS;
const LEVEL_3 = 3 * SLOTS;
const BEYOND = 4 * SLOTS;
const HIGH = 2 ** 32;
const REACH = 2 ** 40;

const LEVELS = 5;
const LEVEL_BITS = 10;
const WORDS_PER_LEVEL = 32;
const FIRST_BIT = 0x80000000;

/** Returned by {@link Occupancy} when every list is empty. */
const NO_LIST = -1;

/** Holds records without a slot, while their slot is being spread. */
const CASCADE = BEYOND + 1;
const NO_RECORD = 0;

/** Assigns timers to slots, and spreads slots over finer ones as the cursor moves on. */
export class Slots {
  readonly #cursor = new SlotCursor();
  readonly #occupied = new Occupancy();
  /** Level of the slot being spread, 5 for the list beyond; 0: none. Lower levels wait for it. */
  #cascadeLevel = 0;

  constructor(private readonly records: Records) {}

  /** All earlier ticks are done. */
  get tick(): number {
    return this.#cursor.tick;
  }

  /** @param tick not before {@link tick} */
  place(record: number, tick: number): void {
    const low = tick | 0;
    const high = (tick * (1 / HIGH)) | 0;
    this.records.setLow(record, low);
    const list = this.#cursor.listOf(low, high);
    if (list >>> SLOT_BITS < this.#cascadeLevel) this.#queueUp(record, high);
    else {
      if (list === BEYOND) this.records.setHigh(record, high);
      if (this.records.append(list, record)) this.#occupied.mark(list);
    }
  }

  remove(record: number): void {
    const emptied = this.records.unlink(record);
    if (emptied >= 0) this.#occupied.clear(emptied);
  }

  /** The earliest tick with work to do; `Infinity` when no timer waits. */
  get nextTick(): number {
    return this.#cascadeLevel !== 0
      ? this.#cursor.tick
      : this.#cursor.startOf(this.#occupied.first());
  }

  /**
   * Removes what is due at `target`, in order, and spreads the slots that the cursor enters. Stops
   * early when `expired` is full or no move is left.
   *
   * @param target not before {@link tick}
   * @param expired receives indexes until it is full
   * @returns how many indexes were written
   */
  advance(target: number, expired: Int32Array, moves: number): number {
    let count = 0;
    let left = moves;
    for (;;) {
      if (this.#cascadeLevel !== 0) left = this.#spread(left);
      if (this.#cascadeLevel !== 0) return count;
      const list = this.#occupied.first();
      const start = this.#cursor.startOf(list);
      if (start > target) break;
      if (count >= expired.length) return count;
      this.#cursor.moveTo(start);
      if (list < SLOTS) count = this.#expire(list, expired, count);
      else this.#beginSpread(list);
    }
    this.#cursor.moveTo(target);
    return count;
  }

  /** A record of the last occupied list, if its tick is later; else {@link NO_RECORD}. */
  farthest(afterTick: number): number {
    const list = this.#lastList();
    if (list === NO_LIST) return NO_RECORD;
    const record = this.records.lastOf(list);
    return this.#tickOf(record, list) > afterTick ? record : NO_RECORD;
  }

  #tickOf(record: number, list: number): number {
    const isFar = list === CASCADE ? this.#cascadeLevel > 4 : list === BEYOND;
    const slot = list === CASCADE ? 0 : list;
    const high = isFar ? this.records.highOf(record) : this.#cursor.highOf(slot);
    return high * HIGH + (this.records.lowOf(record) >>> 0);
  }

  #lastList(): number {
    const above = this.#occupied.last(this.#cascadeLevel);
    if (above !== NO_LIST || this.#cascadeLevel === 0) return above;
    return this.records.isEnd(this.records.firstOf(CASCADE)) ? this.#occupied.last(0) : CASCADE;
  }

  /** While a slot is being spread, records for finer slots queue behind its own, to keep order. */
  #queueUp(record: number, high: number): void {
    if (this.#cascadeLevel > 4) this.records.setHigh(record, high);
    this.records.append(CASCADE, record);
  }

  #expire(slot: number, expired: Int32Array, count: number): number {
    let record = this.records.firstOf(slot);
    while (!this.records.isEnd(record) && count < expired.length) {
      const next = this.records.nextOf(record);
      expired[count++] = this.records.indexOf(record);
      this.records.release(record);
      record = next;
    }
    this.records.setFirst(slot, record);
    if (this.records.isEnd(record)) this.#occupied.clear(slot);
    return count;
  }

  /** The cursor has reached the list, and all finer slots are empty: they get its records. */
  #beginSpread(list: number): void {
    this.records.moveAll(list, CASCADE);
    this.#occupied.clear(list);
    this.#cascadeLevel = list === BEYOND ? 5 : list >>> SLOT_BITS;
  }

  /** @returns the moves that are left */
  #spread(moves: number): number {
    // Up to level 3, the high word is the cursor's.
    const isFar = this.#cascadeLevel > 4;
    let left = moves;
    let record = this.records.firstOf(CASCADE);
    for (; !this.records.isEnd(record) && left > 0; left--) {
      const next = this.records.nextOf(record);
      const high = isFar ? this.records.highOf(record) : this.#cursor.high;
      const list = this.#cursor.listOf(this.records.lowOf(record), high);
      if (this.records.append(list, record)) this.#occupied.mark(list);
      record = next;
    }
    this.records.setFirst(CASCADE, record);
    if (this.records.isEnd(record)) this.#cascadeLevel = 0;
    return left;
  }
}

/**
 * The position of the wheel, and the list to which it assigns each tick. Lists 0 to 4,095 are the
 * slots, level by level; list 4,096 holds everything beyond the reach.
 *
 * A tick has up to 53 bits and bit operations work on 32, so it is split into a low and a high
 * word.
 */
class SlotCursor {
  /** All earlier ticks are done; at this tick, timers may still be added. */
  tick = 0;
  low = 0;
  high = 0;

  moveTo(tick: number): void {
    this.tick = tick;
    this.low = tick | 0;
    this.high = (tick * (1 / HIGH)) | 0;
  }

  listOf(low: number, high: number): number {
    const differs = low ^ this.low;
    if (high !== this.high || differs >>> 30 !== 0) return this.#farListOf(low, high);
    const level = differs >>> 10 === 0 ? 0 : differs >>> 20 === 0 ? 1 : 2;
    return (level << SLOT_BITS) | ((low >>> (level * SLOT_BITS)) & (SLOTS - 1));
  }

  /** The first tick of a list; `Infinity` when there is no list. */
  startOf(list: number): number {
    if (list < 0) return Infinity;
    if (list >= LEVEL_3) return this.#farStartOf(list);
    const shift = (list >>> SLOT_BITS) * SLOT_BITS;
    const block = this.tick - (this.low & ((SLOTS << shift) - 1));
    return block + ((list & (SLOTS - 1)) << shift);
  }

  /** The high word that all ticks of a slot share. Beyond the reach they share none. */
  highOf(slot: number): number {
    return slot < LEVEL_3 ? this.high : (this.high & ~0xff) | ((slot & (SLOTS - 1)) >>> 2);
  }

  #farListOf(low: number, high: number): number {
    return (high ^ this.high) > 0xff ? BEYOND : LEVEL_3 | ((high & 0xff) << 2) | (low >>> 30);
  }

  #farStartOf(list: number): number {
    const block = Math.floor(this.tick / REACH) * REACH;
    return list === BEYOND ? block + REACH : block + (list & (SLOTS - 1)) * (REACH / SLOTS);
  }
}

/**
 * Which lists hold timers: 32 words and a summary word per level, with the first slot in the
 * highest bit, so two `clz32` find it. The list beyond the reach is the only slot of a fifth level.
 */
class Occupancy {
  readonly #words = new Int32Array(LEVELS * WORDS_PER_LEVEL);
  readonly #summaries = new Int32Array(LEVELS);

  mark(list: number): void {
    const word = list >>> 5;
    this.#words[word]! |= FIRST_BIT >>> (list & 31);
    this.#summaries[list >>> LEVEL_BITS]! |= FIRST_BIT >>> (word & 31);
  }

  /** No effect on a list that is not marked. */
  clear(list: number): void {
    const word = list >>> 5;
    const left = this.#words[word]! & ~(FIRST_BIT >>> (list & 31));
    this.#words[word] = left;
    if (left === 0) this.#summaries[list >>> LEVEL_BITS]! &= ~(FIRST_BIT >>> (word & 31));
  }

  /** The earliest list: all of a level is earlier than all of the next. */
  first(): number {
    for (let level = 0; level < LEVELS; level++) {
      const summary = this.#summaries[level]!;
      if (summary === 0) continue;
      const word = (level << 5) | Math.clz32(summary);
      return (word << 5) | Math.clz32(this.#words[word]!);
    }
    return NO_LIST;
  }

  /** The latest list of the levels from `levelMin` up. */
  last(levelMin: number): number {
    for (let word = this.#words.length - 1; word >= levelMin * WORDS_PER_LEVEL; word--) {
      const bits = this.#words[word]!;
      if (bits !== 0) return (word << 5) | Math.clz32(bits & -bits);
    }
    return NO_LIST;
  }
}
