import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

export const WINDOW_S = 30;

/** So long is one part of the window. */
const PART_MS = 1_000;
const PARTS = WINDOW_S + 1;

/** The latencies of the last 30 s, to three digits, in memory that does not grow with their number. */
export class Latencies {
  readonly #parts = Array.from({ length: PARTS }, () => createHistogram({ figures: 3 }));
  #at = Math.floor(performance.now() / PART_MS);

  note(latencyMs: number): void {
    // Histograms count whole numbers from 1.
    this.#now().record(Math.max(1, Math.round(latencyMs * 1_000)));
  }

  /** In milliseconds; 0 when there was none. */
  percentiles(): { p50: number; p95: number; p99: number } {
    this.#now();
    const all = createHistogram({ figures: 3 });
    for (const part of this.#parts) if (part.count > 0) all.add(part);
    const at = (percentile: number): number =>
      all.count === 0 ? 0 : all.percentile(percentile) / 1_000;
    return { p50: at(50), p95: at(95), p99: at(99) };
  }

  /** The part of this second, after those between it and the last one have been emptied. */
  #now(): RecordableHistogram {
    const now = Math.floor(performance.now() / PART_MS);
    for (let at = Math.max(this.#at + 1, now - PARTS + 1); at <= now; at += 1) {
      this.#parts[at % PARTS]!.reset();
    }
    this.#at = now;
    return this.#parts[now % PARTS]!;
  }
}
