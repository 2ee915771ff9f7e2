import type { BatchPace } from './batch-pace.js';
import type { Entry } from '../intake/read-ahead.js';
import type { ReadyQueue } from '../intake/ready-queue.js';
import type { Slots } from './concurrency-limits.js';

interface Parts {
  slots: Slots;
  pace: BatchPace;
  /** What is due, whoever asks for a seat included. */
  ready: Pick<ReadyQueue, 'sizeOf'>;
}

/** Puts together what one claim asks for: which entries travel in which call, one slot per call. */
export class Booking {
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

  /** Books a seat for an entry, if its name has a batch with room, or a slot that it is worth. */
  seat(entry: Entry): boolean {
    const { slots, pace } = this.parts;
    const shares = pace.shares(entry);
    const open = shares ? this.#open.get(entry.name) : undefined;
    if (open !== undefined) {
      open.push(entry);
      if (open.length === pace.batchOf(entry.name)) this.#open.delete(entry.name);
      return true;
    }
    if ((shares && !this.#isWorthACall(entry.name)) || !slots.take(entry.name)) return false;
    const call = [entry];
    this.calls.push(call);
    pace.began(entry, this.nowMs);
    if (shares) this.#open.set(entry.name, call);
    return true;
  }

  #isWorthACall(name: string): boolean {
    const { pace, ready } = this.parts;
    const leftMs = pace.pauseLeftMs(name, this.nowMs);
    if (leftMs === 0 || ready.sizeOf(name) >= pace.batchOf(name)) return true;
    this.pauseLeftMs = Math.min(this.pauseLeftMs, leftMs);
    return false;
  }
}
