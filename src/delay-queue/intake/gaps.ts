import type { Entry } from './entry.js';

/** Groups of which it is known that something was left out; those beyond may run in another order. */
const GROUPS_MAX = 100_000;

/**
 * The sweeper walks through what is due, in its order. When a walk brings something of a group of which it brought an earlier one
 * that was left out, that is left out as well: else the delays of a group would run in another order. The next walk brings all.
 */
export class Gaps {
  readonly #groups = new Set<string>();
  #walk = 0;

  /** Of the next walk nothing is missing. */
  follow({ walk }: Entry): void {
    if (walk <= this.#walk) return;
    this.#walk = walk;
    this.#groups.clear();
  }

  /** Whether something that comes before it is missing. */
  isBehind({ group, walk }: Entry): boolean {
    return walk > 0 && group !== null && this.#groups.has(group);
  }

  /** @param by what was offered: it, or what it has displaced, is left out */
  leaveOut(entry: Entry, by: Entry): void {
    const isFound = entry === by && by.walk === 0;
    if (entry.group === null || isFound || this.#groups.size >= GROUPS_MAX) return;
    this.#groups.add(entry.group);
  }
}
