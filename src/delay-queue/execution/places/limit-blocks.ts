import { Signal } from '../../tasks/signal.js';
import type { LimitLeft } from '../../store/limits/limit.store.js';
import { groupText } from '../../store/wire/wakes.js';

/**
 * When nothing was heard for so long, a claim looks whether there is a place again: whoever had it died, or the hint
 * was lost.
 */
const LOOK_AGAIN_MS = 2_000;

interface Block {
  untilMs: number;
  /** It ends when a running one does, not by its time alone. */
  isFull: boolean;
}

/** Whether a limit holds an entry back: that of its name, or that of its group alone. */
export type HeldBy = 'name' | 'group' | undefined;

/**
 * Limits that had no place left at the last claim. What they hold back stays in the ready queue, and is not asked for
 * again until a place may be free.
 */
export class LimitBlocks {
  /** There may be a place. */
  readonly vacant = new Signal();
  #isAsking = false;
  readonly #blocks = new Map<string, Block>();
  /** Limits of which an attempt was over while a claim was on its way, which may not have seen that. */
  readonly #freed = new Set<string>();

  /** @param nowMs milliseconds of a clock by which rates are filled */
  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** A claim is on its way that will tell: two at once would take what is due of a group out of its order. */
  ask(): void {
    this.#isAsking = true;
    this.#freed.clear();
  }

  /** Its answer is there, or does not come. */
  answered(): void {
    this.#isAsking = false;
  }

  /** What a claim has said of the limits that it met. */
  learn(left: readonly LimitLeft[]): void {
    const nowMs = this.nowMs();
    for (const { name, group, places, waitMs } of left) {
      const key = groupText(name, group);
      if (places > 0) this.#blocks.delete(key);
      else if (waitMs > 0) this.#blocks.set(key, { untilMs: nowMs + waitMs, isFull: false });
      else if (!this.#freed.has(key)) {
        this.#blocks.set(key, { untilMs: nowMs + LOOK_AGAIN_MS, isFull: true });
      }
    }
  }

  /** Forgets what was learnt: the database's clock has jumped. */
  clear(): void {
    this.#blocks.clear();
    this.vacant.tell();
  }

  /** An attempt of that name and group is over, here or elsewhere. */
  freed(name: string, group: string | null): void {
    this.#free(groupText(name, ''));
    if (group !== null) this.#free(groupText(name, group));
    this.vacant.tell();
  }

  heldBy(name: string, group: string | null): HeldBy {
    if (this.#isAsking) return 'name';
    if (this.#blocks.size === 0) return undefined;
    const nowMs = this.nowMs();
    if (this.#isBlocked(groupText(name, ''), nowMs)) return 'name';
    return group !== null && this.#isBlocked(groupText(name, group), nowMs) ? 'group' : undefined;
  }

  /** In how many milliseconds the first of them may be over; Infinity: there is none. */
  leftMs(): number {
    if (this.#blocks.size === 0) return Infinity;
    const nowMs = this.nowMs();
    let firstMs = Infinity;
    for (const [key, { untilMs }] of this.#blocks) {
      if (untilMs <= nowMs) this.#blocks.delete(key);
      else firstMs = Math.min(firstMs, untilMs);
    }
    return firstMs - nowMs;
  }

  #free(key: string): void {
    if (this.#isAsking) this.#freed.add(key);
    if (this.#blocks.get(key)?.isFull === true) this.#blocks.delete(key);
  }

  #isBlocked(key: string, nowMs: number): boolean {
    const block = this.#blocks.get(key);
    if (block === undefined) return false;
    if (block.untilMs > nowMs) return true;
    this.#blocks.delete(key);
    return false;
  }
}
