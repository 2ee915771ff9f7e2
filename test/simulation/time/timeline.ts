/** Something that happens at an instant of simulated time, unless it is called off. */
export interface Appointment {
  readonly atMs: number;
  readonly order: number;
  readonly happen: () => void;
  off: boolean;
}

/** Simulated time: a heap of what will happen, taken out in order of time, then of asking. */
export class Timeline {
  readonly #heap: Appointment[] = [];
  #nowMs = 0;
  #order = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** @param afterMs less than 0 counts as 0: nothing happens in the past */
  after(afterMs: number, happen: () => void): Appointment {
    const atMs = this.#nowMs + Math.max(0, afterMs);
    const appointment = { atMs, order: this.#order++, happen, off: false };
    this.#push(appointment);
    return appointment;
  }

  /** The next thing that happens; time is its time from then on. */
  next(): Appointment | undefined {
    for (;;) {
      const first = this.#pop();
      if (first === undefined || first.off) {
        if (first === undefined) return undefined;
        continue;
      }
      this.#nowMs = first.atMs;
      return first;
    }
  }

  #push(appointment: Appointment): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(appointment);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(appointment, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = appointment;
  }

  #pop(): Appointment | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const isBefore = (a: Appointment, b: Appointment): boolean =>
  a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs;
