import type { Entry } from './entry.js';
import { Fifo } from './fifo.js';

/**
 * Answers whether there was a place for the entry, and takes it: `no`, there is none for any of its name; `not its group`,
 * there is none for its group.
 */
export type Admit = (entry: Entry) => 'yes' | 'no' | 'not its group';

/**
 * What is due of one name, in the order in which it came: a queue for each group, and the groups take turns. Who has no
 * group is of one group with all others that have none.
 */
export class Line {
  /** Served least recently first. */
  readonly #groups = new Map<string | null, Fifo>();
  /** Of a line with one group, mostly the one without a name: it needs no turns. */
  #only: Fifo | undefined;
  /** The longest when it was pushed to: what is left out in favour of others is of this one. */
  #longest = new Fifo();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Groups of which so many wait. */
  crowded(from: number): string[] {
    const crowded: string[] = [];
    for (const [group, { length }] of this.#groups) {
      if (group !== null && length >= from) crowded.push(group);
    }
    return crowded;
  }

  /** Whether some that wait have a group. */
  get hasGroups(): boolean {
    return this.#groups.size > (this.#groups.has(null) ? 1 : 0);
  }

  push(entry: Entry): void {
    const group = this.#groupOf(entry);
    entry.place = 'ready';
    group.push(entry);
    this.#length += 1;
    if (group.length > this.#longest.length) this.#longest = group;
  }

  /**
   * Lets an entry in although the line is full, if its group has less than half of what the longest has.
   * @returns who is left out for it: the newest of the longest group, or the entry itself
   */
  squeeze(entry: Entry): Entry {
    const own = this.#groups.get(entry.group)?.length ?? 0;
    const before = this.#longest.length;
    const out = own * 2 < before ? this.#longest.pop() : undefined;
    this.#length -= before - this.#longest.length;
    if (out === undefined) return entry;
    this.push(entry);
    return out;
  }

  /** Takes one entry: of the groups of which one is admitted, that which was served longest ago. */
  serve(admit: Admit): boolean {
    if (this.#only !== undefined) return this.#ask(this.#only, admit) === 'yes';
    // Whoever is passed moves to the back, where this loop would meet it once more.
    let left = this.#groups.size;
    for (const [key, group] of this.#groups) {
      if (left === 0) break;
      left -= 1;
      const answer = this.#ask(group, admit);
      if (answer === 'no') return false;
      this.#groups.delete(key);
      if (group.length > 0) this.#groups.set(key, group);
      if (answer === 'yes') return true;
    }
    return false;
  }

  /** What was taken and did not begin is the first of its group again. */
  putBack(entry: Entry): void {
    entry.place = 'ready';
    this.#groupOf(entry).unshift(entry);
    this.#length += 1;
  }

  /** @returns those that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    const dropped: Entry[] = [];
    this.#length = 0;
    for (const [key, group] of this.#groups) {
      dropped.push(...group.keepOnly(isWanted));
      this.#length += group.length;
      if (group.length === 0) this.#groups.delete(key);
    }
    return dropped;
  }

  /** Takes the first of a group, if it is admitted. */
  #ask(group: Fifo, admit: Admit): ReturnType<Admit> {
    const before = group.length;
    const entry = group.peek();
    const answer = entry === undefined ? 'not its group' : admit(entry);
    if (answer === 'yes') group.shift();
    this.#length -= before - group.length;
    return answer;
  }

  #groupOf({ group: key }: Entry): Fifo {
    let group = this.#groups.get(key);
    if (group === undefined) {
      this.#groups.set(key, (group = new Fifo()));
      this.#only = this.#groups.size === 1 ? group : undefined;
    }
    return group;
  }
}
