import type { HandlerRegistry } from '../../handlers/handler.registry.js';
import type { Entry } from '../../intake/entry.js';
import { type Growth, pauseMs } from '../../tasks/growing-pause.js';

/** The first is between a name's first call and its second, unless that one is full before. */
const PAUSE: Growth = { firstMs: 5, factor: 2, lastMs: 1_000, jitter: 0 };

interface Running {
  calls: number;
  lastBeganAtMs: number;
}

const NONE: Running = { calls: 0, lastBeganAtMs: -Infinity };

/**
 * When a further call of a batch handler is worth its place. The first one never waits. While others
 * run, one begins as soon as its batch is full, or when a pause has passed since the last one began:
 * 5 ms with one running, doubled with each further one, a second at most.
 *
 * Without a pause each millisecond of a burst would begin a call for the few delays that it brings,
 * until all places are taken. No single pause fits: one that spares the places of a handler that takes
 * seconds is an age to one that takes milliseconds. Doubled, it is about as long as the first of the
 * calls that run has taken already, so none waits out of proportion, and ten places of a slow
 * handler last for 2.5 s at least.
 */
export class BatchPace {
  readonly #running = new Map<string, Running>();

  constructor(private readonly registry: HandlerRegistry) {}

  /** Delays of one call of that name, at most. */
  batchOf(name: string): number {
    return this.registry.get(name)?.batch ?? 1;
  }

  /** Whether an entry may have others beside it. Those that may not are not paced, nor counted. */
  shares({ name, failed, stalled }: Entry): boolean {
    return this.batchOf(name) > 1 && !failed && !stalled;
  }

  /** How long a call of that name that is not full has to wait; 0: it may begin. */
  pauseLeftMs(name: string, nowMs: number): number {
    const { calls, lastBeganAtMs } = this.#running.get(name) ?? NONE;
    if (calls === 0) return 0;
    return Math.max(0, lastBeganAtMs + pauseMs(PAUSE, calls) - nowMs);
  }

  /** A call has taken its place; `first` is its first entry. */
  began(first: Entry, nowMs: number): void {
    if (!this.shares(first)) return;
    const { calls } = this.#running.get(first.name) ?? NONE;
    this.#running.set(first.name, { calls: calls + 1, lastBeganAtMs: nowMs });
  }

  /** The call has given its place back. */
  ended(first: Entry): void {
    const running = this.#running.get(first.name);
    if (running !== undefined && this.shares(first)) running.calls -= 1;
  }
}
