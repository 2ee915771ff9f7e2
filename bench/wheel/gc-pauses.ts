import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** V8's own collector, called between measurements so that none pays for another's garbage. */
export const collectGarbage: () => void = (() => {
  setFlagsFromString('--expose-gc');
  // A few collections in a row take functions for disused, and they would start cold each time.
  setFlagsFromString('--no-flush-bytecode');
  const gc: unknown = runInNewContext('gc');
  return () => void (typeof gc === 'function' && gc());
})();

/** Live bytes of the heap and of typed arrays. The second collection ends the first one's sweep. */
export function liveBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Counts the pauses of the collector, those that were asked for left out. */
export class GcPauses {
  totalMs = 0;
  longestMs = 0;
  readonly #observer = new PerformanceObserver((list) => this.#take(list.getEntries()));

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Entries are handed out late, in a turn of the event loop of their own. */
  async stop(): Promise<void> {
    await new Promise(setImmediate);
    this.#take(this.#observer.takeRecords());
    this.#observer.disconnect();
  }

  #take(entries: PerformanceEntry[]): void {
    for (const entry of entries) {
      if ('detail' in entry && isForced(entry.detail)) continue;
      this.totalMs += entry.duration;
      this.longestMs = Math.max(this.longestMs, entry.duration);
    }
  }
}

function isForced(detail: unknown): boolean {
  const flags: unknown =
    typeof detail === 'object' && detail !== null && 'flags' in detail ? detail.flags : 0;
  return (Number(flags) & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0;
}
