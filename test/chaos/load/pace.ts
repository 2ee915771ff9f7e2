import { setTimeout as pause } from 'node:timers/promises';

/** So many calls wait for their answers at most; behind a dead connection all of them do. */
const UNANSWERED_MAX = 150;

/** Longer behind than this, a producer does not make up for it: it was stopped, or its machine was. */
const BEHIND_MAX_MS = 1_000;

/** Starts one thing after another at a rate, without waiting for what they come to. */
export class Pace {
  readonly #under = new Set<Promise<unknown>>();
  #nextAtMs = performance.now();

  constructor(
    private readonly ratePerSecond: number,
    private readonly signal: AbortSignal,
  ) {}

  /** Waits for its turn and starts it. It counts as so many. Never throws: its result is logged. */
  async next(count: number, run: () => Promise<unknown>): Promise<void> {
    const nowMs = performance.now();
    this.#nextAtMs = Math.max(this.#nextAtMs, nowMs - BEHIND_MAX_MS);
    await pause(Math.max(0, this.#nextAtMs - nowMs), undefined, { signal: this.signal }).catch(
      () => {},
    );
    this.#nextAtMs += (count * 1_000) / this.ratePerSecond;
    while (this.#under.size >= UNANSWERED_MAX) await Promise.race(this.#under);
    if (this.signal.aborted) return;
    const running = run().finally(() => this.#under.delete(running));
    this.#under.add(running);
  }

  /** Resolves when all that was started is over. */
  async rest(): Promise<void> {
    await Promise.all(this.#under);
  }
}
