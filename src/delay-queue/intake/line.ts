import type { Entry } from './entry.js';
import { Fifo } from './fifo.js';
import { Gaps } from './gaps.js';

/**
 * Answers whether there was a place for the entry, and takes it: `no`, there is none for any of its name; `not its group`,
 * there is none for its group.
 */
export type Admit = (entry: Entry) => 'yes' | 'no' | 'not its group';

class Group extends Fifo {
  /** There was no place for it when it was asked last. */
  isHeld = false;
}

/**
 * What is due of one name, in the order in which it came: a queue for each group, and the groups take turns. Who has no
 * group is of one group with all others that have none.
 */
export class Line {
  /** Served least recently first. */
  readonly #groups = new Map<string | null, Group>();
  /** Of a line with one group, mostly the one without a name: it needs no turns. */
  #only: Group | undefined;
  /** Goes round the groups: what is left out in favour of others is of this one, as long as it has too many. */
  #donor: Group | undefined;
  #donors = this.#groups.values();
  readonly #gaps = new Gaps();
  #length = 0;
  #held = 0;

  get length(): number {
    return this.#length;
  }

  /** How many are of groups that had no place when they were asked last. */
  get held(): number {
    return this.#held;
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

  /** @returns who is left out: the entry, another one if the line is full, or nobody */
  offer(entry: Entry, isFull: boolean): Entry | undefined {
    this.#gaps.follow(entry);
    if (this.#gaps.isBehind(entry)) return entry;
    const leftOut = isFull ? this.#squeeze(entry) : undefined;
    if (leftOut !== entry) this.#push(entry);
    if (leftOut !== undefined) this.#gaps.leaveOut(leftOut, entry);
    return leftOut;
  }

  #push(entry: Entry): void {
    const group = this.#groupOf(entry);
    entry.place = 'ready';
    group.push(entry);
    this.#count(group, 1);
  }

  /**
   * Makes room for an entry although the line is full, if its group has less than its share of the line: in the place of a group that
   * has more, or, when there are more groups than places, of one that waits for its limit.
   * @returns who is left out for it: the newest of that group, or the entry itself
   */
  #squeeze(entry: Entry): Entry {
    const own = this.#groups.get(entry.group);
    const groups = this.#groups.size + (own === undefined ? 1 : 0);
    const share = Math.max(1, Math.floor(this.#length / groups));
    if ((own?.length ?? 0) >= share) return entry;
    // With fewer entries than groups nobody has more than one.
    const isCrowded = this.#length >= groups;
    if (!isCrowded && (own?.isHeld === true || this.#held === 0)) return entry;
    return this.#popOf((group) => (isCrowded ? group.length > share : group.isHeld)) ?? entry;
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
    const group = this.#groupOf(entry);
    entry.place = 'ready';
    group.unshift(entry);
    this.#count(group, 1);
  }

  /** @returns those that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    const dropped: Entry[] = [];
    for (const [key, group] of this.#groups) {
      const before = group.length;
      dropped.push(...group.keepOnly(isWanted));
      this.#count(group, group.length - before);
      if (group.length === 0) this.#groups.delete(key);
    }
    return dropped;
  }

  /** Takes the first of a group, if it is admitted. */
  #ask(group: Group, admit: Admit): ReturnType<Admit> {
    const before = group.length;
    const entry = group.peek();
    const answer = entry === undefined ? 'not its group' : admit(entry);
    if (answer === 'yes') group.shift();
    this.#count(group, group.length - before);
    if (answer !== 'no') this.#hold(group, answer === 'not its group');
    return answer;
  }

  #hold(group: Group, isHeld: boolean): void {
    if (group.isHeld === isHeld) return;
    group.isHeld = isHeld;
    this.#held += isHeld ? group.length : -group.length;
  }

  /** The newest entry of the next group of which that is true. */
  #popOf(hasTooMany: (group: Group) => boolean): Entry | undefined {
    for (let left = this.#groups.size; left >= 0; left -= 1) {
      const out = this.#donor && hasTooMany(this.#donor) ? this.#pop(this.#donor) : undefined;
      if (out !== undefined) return out;
      this.#donor = this.#nextDonor();
    }
    return undefined;
  }

  #pop(group: Group): Entry | undefined {
    const before = group.length;
    const out = group.pop();
    this.#count(group, group.length - before);
    if (out !== undefined && group.length === 0) this.#groups.delete(out.group);
    return out;
  }

  #nextDonor(): Group | undefined {
    let next = this.#donors.next();
    if (next.done === true) {
      this.#donors = this.#groups.values();
      next = this.#donors.next();
    }
    return next.value;
  }

  /** A group has so many more. */
  #count({ isHeld }: Group, more: number): void {
    this.#length += more;
    if (isHeld) this.#held += more;
  }

  #groupOf({ group: key }: Entry): Group {
    let group = this.#groups.get(key);
    if (group === undefined) {
      this.#groups.set(key, (group = new Group()));
      this.#only = this.#groups.size === 1 ? group : undefined;
    }
    return group;
  }
}
