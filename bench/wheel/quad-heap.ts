/** Four children per node: half as deep as a binary heap, and siblings share a cache line. */
const ARITY = 4;

/**
 * The wheel's honest rival: a 4-ary heap in typed arrays, as fast as it can be made. It knows where
 * each timer stands, so that one can be cancelled, and has no generations against stale handles.
 */
export class QuadHeap {
  readonly #deadlinesMs: Float64Array;
  readonly #heap: Int32Array;
  readonly #positions: Int32Array;
  #size = 0;

  constructor(capacity: number) {
    this.#deadlinesMs = new Float64Array(capacity);
    this.#heap = new Int32Array(capacity);
    this.#positions = new Int32Array(capacity).fill(-1);
  }

  get size(): number {
    return this.#size;
  }

  /** @param timer 0 to capacity − 1, not in the heap */
  add(timer: number, deadlineMs: number): void {
    this.#deadlinesMs[timer] = deadlineMs;
    this.#rise(this.#size++, timer);
  }

  cancel(timer: number): boolean {
    const position = this.#positions[timer]!;
    if (position < 0) return false;
    this.#remove(position);
    return true;
  }

  nextExpiry(): number {
    return this.#size === 0 ? Infinity : this.#deadlinesMs[this.#heap[0]!]!;
  }

  advance(nowMs: number, expired: Int32Array): number {
    let count = 0;
    while (count < expired.length && this.#size > 0) {
      const timer = this.#heap[0]!;
      if (this.#deadlinesMs[timer]! > nowMs) break;
      expired[count++] = timer;
      this.#remove(0);
    }
    return count;
  }

  #remove(position: number): void {
    this.#positions[this.#heap[position]!] = -1;
    const last = this.#heap[--this.#size]!;
    if (position === this.#size) return;
    const parent = (position - 1) >> 2;
    const deadlineMs = this.#deadlinesMs[last]!;
    if (position > 0 && deadlineMs < this.#deadlinesMs[this.#heap[parent]!]!) {
      this.#rise(position, last);
    } else this.#sink(position, last);
  }

  #rise(from: number, timer: number): void {
    const deadlineMs = this.#deadlinesMs[timer]!;
    let position = from;
    while (position > 0) {
      const parent = (position - 1) >> 2;
      const above = this.#heap[parent]!;
      if (this.#deadlinesMs[above]! <= deadlineMs) break;
      this.#put(position, above);
      position = parent;
    }
    this.#put(position, timer);
  }

  #sink(from: number, timer: number): void {
    const deadlineMs = this.#deadlinesMs[timer]!;
    let position = from;
    for (;;) {
      const first = position * ARITY + 1;
      const end = Math.min(first + ARITY, this.#size);
      let leastMs = deadlineMs;
      let least = -1;
      for (let child = first; child < end; child++) {
        const childMs = this.#deadlinesMs[this.#heap[child]!]!;
        if (childMs >= leastMs) continue;
        leastMs = childMs;
        least = child;
      }
      if (least < 0) break;
      this.#put(position, this.#heap[least]!);
      position = least;
    }
    this.#put(position, timer);
  }

  #put(position: number, timer: number): void {
    this.#heap[position] = timer;
    this.#positions[timer] = position;
  }
}
