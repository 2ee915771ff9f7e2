/**
 * A record is four words. Links are offsets into `#words`; the list heads come first. None of these
 * constants is exported: V8 folds a module's own constants, and reads imported ones at each use.
 */
const [NEXT, PREV, GENERATION, TICK_LOW] = [0, 1, 2, 3] as const;
const RECORD_SHIFT = 2;
const HEADS = 4_098;
const HEADS_END = HEADS << RECORD_SHIFT;

/** A handle is generation × 2^24 + index: 29 + 24 bits, a safe integer. */
const INDEX_SPAN = 2 ** 24;
const GENERATION_MAX = 2 ** 29 - 1;

const ALLOCATED_FIRST = 1_024;
const DOUBLING_MAX = 65_536;

/** Returned by {@link Records.take} and {@link Records.find} for no record: a list's head. */
const NO_RECORD = 0;

/**
 * The records of all timers, and the doubly linked lists that they form, with the list heads in the
 * same array. A record is a quarter of a cache line, so one line holds all of it.
 *
 * ```
 * words | 4,098 list heads | next prev generation tickLow | next prev generation tickLow | …
 *                          | timer 0                      | timer 1                      |
 * ```
 */
export class Records {
  /** Number of waiting timers. */
  count = 0;
  /** Upper bound (exclusive) of all indexes. */
  allocated = 0;
  #words = new Int32Array(HEADS_END);
  /** High words of ticks beyond the reach. A wheel without such timers pays nothing for them. */
  #highs = new Int32Array(0);
  #used = 0;
  /** Released records, linked by NEXT. The last released comes first: it is still in the cache. */
  #free = NO_RECORD;

  constructor(private readonly capacity: number) {
    for (let head = 0; head < HEADS_END; head += 1 << RECORD_SHIFT) this.#join(head, head);
  }

  /** @returns a record in no list, or {@link NO_RECORD} when there is no room */
  take(): number {
    let record = this.#free;
    if (record !== NO_RECORD) this.#free = this.#words[record + NEXT]!;
    else if (this.#used < this.allocated || this.#grow())
      record = (HEADS + this.#used++) << RECORD_SHIFT;
    else return NO_RECORD;
    const words = this.#words;
    // A free record's generation is negative, so no handle matches. It is 0 before the first use.
    const generation = 1 - words[record + GENERATION]!;
    words[record + GENERATION] = generation > GENERATION_MAX ? 1 : generation;
    this.count++;
    return record;
  }

  /** Frees a record that is in no list any more. */
  release(record: number): void {
    const words = this.#words;
    words[record + NEXT] = this.#free;
    words[record + GENERATION] = -words[record + GENERATION]!;
    this.#free = record;
    this.count--;
  }

  indexOf(record: number): number {
    return (record >> RECORD_SHIFT) - HEADS;
  }

  handleOf(record: number): number {
    return this.#words[record + GENERATION]! * INDEX_SPAN + this.indexOf(record);
  }

  /** The record of a waiting timer; {@link NO_RECORD} for any other number. */
  find(handle: number): number {
    const index = handle & (INDEX_SPAN - 1);
    if (!(handle >= INDEX_SPAN) || index >= this.#used) return NO_RECORD;
    const record = (HEADS + index) << RECORD_SHIFT;
    const generation = (handle - index) * (1 / INDEX_SPAN);
    return this.#words[record + GENERATION] === generation ? record : NO_RECORD;
  }

  /** Appends a record to a list. @returns whether the list was empty */
  append(list: number, record: number): boolean {
    const words = this.#words;
    const head = list << RECORD_SHIFT;
    const last = words[head + PREV]!;
    words[head + PREV] = record;
    words[last + NEXT] = record;
    words[record + PREV] = last;
    words[record + NEXT] = head;
    return last === head;
  }

  /** Removes a record from its list. @returns the list if it is empty now, −1 otherwise */
  unlink(record: number): number {
    const words = this.#words;
    const next = words[record + NEXT]!;
    const prev = words[record + PREV]!;
    words[prev + NEXT] = next;
    words[next + PREV] = prev;
    // The only record of a list has its head on both sides, and the head's offset names the list.
    return next === prev ? next >> RECORD_SHIFT : -1;
  }

  /** Moves all records of a list into an empty one, in their order. */
  moveAll(from: number, to: number): void {
    const [head, target] = [from << RECORD_SHIFT, to << RECORD_SHIFT];
    this.#join(target, this.#words[head + NEXT]!);
    this.#join(this.#words[head + PREV]!, target);
    this.#join(head, head);
  }

  /** For an empty list, returns the head, for which {@link isEnd} is true. */
  firstOf(list: number): number {
    return this.#words[(list << RECORD_SHIFT) + NEXT]!;
  }

  /** Drops everything before `record`; all of it if that is the list's end. */
  setFirst(list: number, record: number): void {
    this.#join(list << RECORD_SHIFT, record);
  }

  lastOf(list: number): number {
    return this.#words[(list << RECORD_SHIFT) + PREV]!;
  }

  nextOf(record: number): number {
    return this.#words[record + NEXT]!;
  }

  /** The last record is followed by the list's head. */
  isEnd(record: number): boolean {
    return record < HEADS_END;
  }

  lowOf(record: number): number {
    return this.#words[record + TICK_LOW]!;
  }

  setLow(record: number, low: number): void {
    this.#words[record + TICK_LOW] = low;
  }

  highOf(record: number): number {
    return this.#highs[this.indexOf(record)]!;
  }

  setHigh(record: number, high: number): void {
    const index = this.indexOf(record);
    if (index >= this.#highs.length) this.#highs = grown(this.#highs, this.allocated);
    this.#highs[index] = high;
  }

  /** Links two records, or list heads, as neighbours. */
  #join(prev: number, next: number): void {
    this.#words[prev + NEXT] = next;
    this.#words[next + PREV] = prev;
  }

  /**
   * Doubles while there is at most half a megabyte to copy. Then all the rest comes at once: zeroed
   * pages cost an address, and memory only when touched. Doubling a million records would block one
   * `add` while 16 MB are copied.
   */
  #grow(): boolean {
    const doubled = Math.max(ALLOCATED_FIRST, this.allocated * 2);
    const timers = doubled > DOUBLING_MAX ? this.capacity : Math.min(doubled, this.capacity);
    if (timers === this.allocated) return false;
    this.#words = grown(this.#words, HEADS_END + (timers << RECORD_SHIFT));
    this.allocated = timers;
    return true;
  }
}

function grown(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}
