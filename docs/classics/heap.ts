import type { OpenDesign } from './design.js';

interface Entry {
  orderId: string;
  dueMs: number;
}

/** The earliest first; what `DelayQueue` of the JDK and most timers in memory are. */
class Heap {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  add(entry: Entry): void {
    let at = this.#entries.push(entry) - 1;
    while (at > 0 && this.#isBefore(at, (at - 1) >> 1)) {
      this.#swap(at, (at - 1) >> 1);
      at = (at - 1) >> 1;
    }
  }

  take(): Entry | undefined {
    const [first] = this.#entries;
    const last = this.#entries.pop();
    if (last === undefined || this.#entries.length === 0) return first;
    this.#entries[0] = last;
    for (let at = 0; ;) {
      const child = this.#isBefore(2 * at + 2, 2 * at + 1) ? 2 * at + 2 : 2 * at + 1;
      if (!this.#isBefore(child, at)) return first;
      this.#swap(at, child);
      at = child;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [left, right] = [this.#entries[a], this.#entries[b]];
    return left !== undefined && right !== undefined && left.dueMs < right.dueMs;
  }

  #swap(a: number, b: number): void {
    [this.#entries[a], this.#entries[b]] = [this.#entries[b]!, this.#entries[a]!];
  }
}

/**
 * A priority queue in memory that reads all unpaid orders at its start, so that a restart loses none.
 * And so each process has all orders of every other that was there before it.
 */
export const openHeap: OpenDesign = async (shop) => {
  const heap = new Heap();
  const live = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const add = (orderId: string, afterMs: number): void => {
    live.add(orderId);
    heap.add({ orderId, dueMs: performance.now() + afterMs });
    arm();
  };
  const arm = (): void => {
    clearTimeout(timer);
    if (heap.first) timer = setTimeout(fire, Math.ceil(heap.first.dueMs - performance.now()));
  };
  const fire = (): void => {
    while (heap.first && heap.first.dueMs <= performance.now()) {
      const { orderId } = heap.take()!;
      if (live.delete(orderId)) void shop.close(orderId);
    }
    arm();
  };

  const unpaid = await shop.dataSource.query<{ id: string; afterMs: number }[]>(
    `SELECT id, extract(epoch FROM due_at - clock_timestamp())::float8 * 1000 AS "afterMs"
     FROM orders WHERE status = 'UNPAID'`,
  );
  for (const { id, afterMs } of unpaid) add(id, afterMs);
  return {
    schedule: async (orderId, afterMs) => add(orderId, afterMs),
    async cancel(orderId) {
      live.delete(orderId);
      return !shop.closing(orderId);
    },
    left: async () => live.size,
  };
};
