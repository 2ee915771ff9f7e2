import type { Lateness } from './feed.js';
import { tenths } from './picture.js';

/** After this time no commit follows that reports an earlier end. */
const SETTLED_AFTER_MS = 2_000;

const UP_TO_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, null] as const;

/** As `feed.sql.ts` returns it. */
export interface Fired {
  node: string;
  settled: boolean;
  /** Of the kinds that the histogram shows. */
  watched: boolean;
  lateMs: number;
  count: number;
  maxMs: number;
}

/**
 * Lateness of all that fired since the shop was started. Each delay is counted once: what has ended
 * for good is added up here, and only the most recent part is read again.
 */
export class LatenessCount {
  readonly #counts = new Tally();
  #readUpTo: Date;

  constructor(private readonly shopStartedAt: Date) {
    this.#readUpTo = shopStartedAt;
  }

  /** What to read: since when, which of it, and up to when it counts for good. */
  wanted(now: Date): [readUpTo: Date, shopStartedAt: Date, settledAt: Date] {
    const settled = now.getTime() - SETTLED_AFTER_MS;
    const settledAt = new Date(Math.max(settled, this.#readUpTo.getTime()));
    return [this.#readUpTo, this.shopStartedAt, settledAt];
  }

  /** Adds what was found up to then. @returns all of it, from the shop's start to now */
  add(found: Fired[], settledAt: Date): Tally {
    this.#readUpTo = settledAt;
    for (const fired of found) if (fired.settled) this.#counts.add(fired);
    const upToNow = this.#counts.copy();
    for (const fired of found) if (!fired.settled) upToNow.add(fired);
    return upToNow;
  }
}

/** Counts by process, and by lateness in steps of 1% and of a tenth of a millisecond. */
export class Tally {
  private readonly byLateness = new Map<number, number>();
  private readonly byProcess = new Map<string, number>();
  private maxMs: number | null = null;

  add({ node, watched, lateMs, count, maxMs }: Fired): void {
    this.byProcess.set(node, this.firedBy(node) + count);
    if (!watched) return;
    this.byLateness.set(lateMs, (this.byLateness.get(lateMs) ?? 0) + count);
    this.maxMs = Math.max(this.maxMs ?? 0, maxMs);
  }

  copy(): Tally {
    const copy = new Tally();
    for (const [lateMs, count] of this.byLateness) copy.byLateness.set(lateMs, count);
    for (const [node, count] of this.byProcess) copy.byProcess.set(node, count);
    copy.maxMs = this.maxMs;
    return copy;
  }

  firedBy(process: string): number {
    return this.byProcess.get(process) ?? 0;
  }

  lateness(): Lateness {
    const ascending = [...this.byLateness].toSorted(([a], [b]) => a - b);
    const count = ascending.reduce((sum, [, its]) => sum + its, 0);
    const buckets: Lateness['buckets'] = UP_TO_MS.map((upToMs) => ({ upToMs, count: 0 }));
    for (const [lateMs, its] of ascending) {
      const bucket = buckets.find(({ upToMs }) => upToMs === null || lateMs <= upToMs);
      bucket!.count += its;
    }
    return {
      buckets,
      p50Ms: percentile(ascending, count * 0.5),
      p99Ms: percentile(ascending, count * 0.99),
      maxMs: tenths(this.maxMs),
      count,
    };
  }
}

/** The lateness at that rank, counted from 1. */
function percentile(ascending: [lateMs: number, count: number][], rank: number): number | null {
  let passed = 0;
  for (const [lateMs, count] of ascending) {
    passed += count;
    if (passed >= rank) return lateMs;
  }
  return null;
}
