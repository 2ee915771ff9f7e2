import type { Hears } from '../adapters/adapter.js';
import type { ProcessUsage } from './process-usage.js';
import type { WorkerReport } from './protocol.js';
import type { Yardstick } from './yardstick.js';

const RUNS_MAX = 255;

/** Notes what a worker does, in arrays made beforehand: noting must not cost what is measured. */
export class RunLog implements Hears {
  settledCount = 0;
  readonly #runs: Uint8Array;
  readonly #dueMs: Float64Array;
  readonly #latenessMs: Float64Array;
  #handled = 0;
  #firstHandledAtNs = 0n;
  #strays = 0;
  #claims = 0;
  #ownDifferenceMs = Number.NaN;
  #lastSettledAtMs = 0;
  #longestPauseMs = 0;

  constructor(
    private readonly yardstick: Yardstick,
    private readonly count: number,
  ) {
    this.#runs = new Uint8Array(count);
    // Room for each delay to run twice; what comes after that is counted in `runs` alone.
    this.#dueMs = new Float64Array(count * 2);
    this.#latenessMs = new Float64Array(count * 2);
  }

  handled(n: number, dueMs: number, ownLatenessMs?: number): void {
    const latenessMs = this.yardstick.nowMs() - dueMs;
    if (this.#firstHandledAtNs === 0n) this.#firstHandledAtNs = process.hrtime.bigint();
    if (n < 0 || n >= this.count) {
      this.#strays += 1;
      return;
    }
    this.#runs[n] = Math.min(RUNS_MAX, (this.#runs[n] ?? 0) + 1);
    this.#dueMs[this.#handled] = dueMs;
    this.#latenessMs[this.#handled] = latenessMs;
    this.#handled += 1;
    if (ownLatenessMs === undefined) return;
    const differenceMs = Math.abs(ownLatenessMs - latenessMs);
    if (!(differenceMs <= this.#ownDifferenceMs)) this.#ownDifferenceMs = differenceMs;
  }

  claimed(): void {
    this.#claims += 1;
  }

  settled(): void {
    const nowMs = performance.now();
    if (this.settledCount > 0) {
      this.#longestPauseMs = Math.max(this.#longestPauseMs, nowMs - this.#lastSettledAtMs);
    }
    this.settledCount += 1;
    this.#lastSettledAtMs = nowMs;
  }

  report(usage: ProcessUsage): WorkerReport {
    const noted = Math.min(this.#handled, this.#dueMs.length);
    const sinceLastMs = performance.now() - this.#lastSettledAtMs;
    return {
      type: 'report',
      runs: this.#runs,
      strays: this.#strays,
      claims: this.#claims,
      dueMs: this.#dueMs.slice(0, noted),
      latenessMs: this.#latenessMs.slice(0, noted),
      uncertaintyMs: this.yardstick.uncertaintyMs,
      ownDifferenceMs: this.#ownDifferenceMs,
      longestPauseMs: this.#longestPauseMs,
      lastSettledAtNs: process.hrtime.bigint() - BigInt(Math.round(sinceLastMs * 1e6)),
      firstHandledAtNs: this.#firstHandledAtNs,
      ...usage,
    };
  }
}
