import type { Entry } from '../intake/entry.js';
import type { BatchPace } from './batch-pace.js';
import type { ConcurrencyLimits } from './concurrency-limits.js';

interface Parts {
  limits: ConcurrencyLimits;
  pace: BatchPace;
  /** What is due, whoever asks to be admitted included. */
  intake: { waiting(name: string): number };
}

/** Puts together what one claim asks for: which entries travel in which call, one place per call. */
export class NextClaim {
  readonly calls: Entry[][] = [];
  /** How long the first of those has to wait that were refused for their pace; Infinity: none was. */
  pauseLeftMs = Infinity;
  /** Calls of batch handlers that have room, by name. */
  readonly #open = new Map<string, Entry[]>();

  /** @param nowMs `performance.now()` */
  constructor(
    private readonly parts: Parts,
    private readonly nowMs: number,
  ) {}

  /** Takes an entry in, if its name has a batch with room, or a place that it is worth. */
  admit(entry: Entry): boolean {
    const { limits, pace } = this.parts;
    const shares = pace.shares(entry);
    const open = shares ? this.#open.get(entry.name) : undefined;
    if (open !== undefined) {
      open.push(entry);
      if (open.length === pace.batchOf(entry.name)) this.#open.delete(entry.name);
      return true;
    }
    if ((shares && !this.#isWorthACall(entry.name)) || !limits.acquire(entry.name)) return false;
    const call = [entry];
    this.calls.push(call);
    pace.began(entry, this.nowMs);
    if (shares) this.#open.set(entry.name, call);
    return true;
  }

  #isWorthACall(name: string): boolean {
    const { pace, intake } = this.parts;
    const leftMs = pace.pauseLeftMs(name, this.nowMs);
    if (leftMs === 0 || intake.waiting(name) >= pace.batchOf(name)) return true;
    this.pauseLeftMs = Math.min(this.pauseLeftMs, leftMs);
    return false;
  }
}
