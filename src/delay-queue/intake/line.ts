import type { Entry } from './entry.js';
import { Fifo } from './fifo.js';
import { Gaps } from './gaps.js';

/**
 * Answers whether there was a place for the entry, and takes it: `no`, there is none for any of its name; `not its group`,
 * this time there is none for its group; `its group waits`, there is none until the group is released.
 */
export type Admit = (entry: Entry) => 'yes' | 'no' | 'not its group' | 'its group waits';

class Group extends Fifo {
  /** It is set aside until it is released. */
  isHeld = false;
  /** As how long it stands among all lengths; 0: not at all. */
  counted = 0;

  constructor(readonly key: string | null) {
    super();
  }
}

/**
 * What is due of one name, in the order in which it came: a queue for each group, and the groups take turns. Who has no
 * group is of one group with all others that have none.
 *
 * Groups that wait for their limits stand aside. There may be thousands, of which nothing is to be asked for each delay that
 * runs: nothing here walks through them but what looks at all of the line, when ownership changes.
 */
export class Line {
  /** Served, or released, least recently first. */
  readonly #turns = new Map<string | null, Group>();
  /** Set aside first, first. */
  readonly #aside = new Map<string | null, Group>();
  /** Of a line with one group, mostly the one without a name: it needs no turns. */
  #only: Group | undefined;
  readonly #lengths = new Lengths();
  readonly #gaps = new Gaps();
  #length = 0;
  #held = 0;

  get length(): number {
    return this.#length;
  }

  /** How many are of groups that were set aside. */
  get held(): number {
    return this.#held;
  }

  /** Groups of which so many wait. */
  crowded(from: number): string[] {
    return this.#byLength.from(from).flatMap(({ key }) => key ?? []);
  }

  /** Whether some that wait have a group. */
  get hasGroups(): boolean {
    return this.#size > (this.#turns.has(null) ? 1 : 0);
  }

  /** @returns who is left out: the entry, another one if the line is full, or none */
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
   * @returns who is left out for it: the newest of that group, or the entry itself; undefined when something was gone already
   */
  #squeeze(entry: Entry): Entry | undefined {
    const own = this.#find(entry.group);
    const groups = this.#size + (own === undefined ? 1 : 0);
    const before = this.#length;
    const share = Math.max(1, Math.floor(before / groups));
    if ((own?.length ?? 0) >= share) return entry;
    // With fewer entries than groups no group has more than one.
    const isCrowded = before >= groups;
    if (!isCrowded && own?.isHeld === true) return entry;
    const donor = isCrowded ? this.#byLength.longest(share) : firstOf(this.#aside);
    if (donor === undefined) return entry;
    const out = this.#pop(donor);
    return out === undefined && this.#length === before ? entry : out;
  }

  /** Takes one entry: of the groups of which one is admitted, that which was served longest ago. */
  serve(admit: Admit): boolean {
    if (this.#only !== undefined) return this.#ask(this.#only, admit) === 'yes';
    // A group that is passed moves to the back, where this loop would meet it once more.
    let left = this.#turns.size;
    for (const [key, group] of this.#turns) {
      if (left === 0) break;
      left -= 1;
      const answer = this.#ask(group, admit);
      if (answer === 'no') return false;
      this.#turns.delete(key);
      if (group.length > 0) (group.isHeld ? this.#aside : this.#turns).set(key, group);
      if (answer === 'yes') return true;
    }
    return false;
  }

  /** Gives a group that was set aside its turn again, behind all others. */
  release(key: string): void {
    const group = this.#aside.get(key);
    if (group === undefined) return;
    this.#aside.delete(key);
    group.isHeld = false;
    this.#held -= group.length;
    this.#turns.set(key, group);
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
    for (const groups of [this.#turns, this.#aside]) {
      for (const group of groups.values()) {
        const before = group.length;
        dropped.push(...group.keepOnly(isWanted));
        this.#count(group, group.length - before);
        if (group.length === 0) this.#drop(group);
      }
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
    if (answer === 'its group waits') this.#setAside(group);
    return answer;
  }

  #setAside(group: Group): void {
    group.isHeld = true;
    this.#held += group.length;
    if (this.#only !== group) return;
    this.#only = undefined;
    this.#drop(group);
    this.#aside.set(group.key, group);
  }

  #pop(group: Group): Entry | undefined {
    const before = group.length;
    const out = group.pop();
    this.#count(group, group.length - before);
    if (group.length === 0) this.#drop(group);
    return out;
  }

  #drop({ key }: Group): void {
    this.#turns.delete(key);
    this.#aside.delete(key);
  }

  /** A group has so many more. */
  #count(group: Group, more: number): void {
    this.#length += more;
    if (group.isHeld) this.#held += more;
    if (this.#only === undefined) this.#lengths.set(group);
  }

  /** The only group is counted on demand. */
  get #byLength(): Lengths {
    if (this.#only !== undefined) this.#lengths.set(this.#only);
    return this.#lengths;
  }

  get #size(): number {
    return this.#turns.size + this.#aside.size;
  }

  #find(key: string | null): Group | undefined {
    return this.#turns.get(key) ?? this.#aside.get(key);
  }

  #groupOf({ group: key }: Entry): Group {
    const known = this.#find(key);
    if (known !== undefined) return known;
    const group = new Group(key);
    if (this.#only !== undefined) this.#lengths.set(this.#only);
    this.#turns.set(key, group);
    this.#only = this.#size === 1 ? group : undefined;
    return group;
  }
}

const firstOf = (groups: ReadonlyMap<string | null, Group>): Group | undefined => {
  const [first] = groups.values();
  return first;
};

/** Groups by how many entries they have: who has the most is known without a look at the others. */
class Lengths {
  readonly #groups: Set<Group>[] = [];

  /** To be called whenever its length has changed. */
  set(group: Group): void {
    if (group.counted === group.length) return;
    this.#groups[group.counted]?.delete(group);
    group.counted = group.length;
    if (group.length > 0) (this.#groups[group.length] ??= new Set()).add(group);
    while (this.#groups.length > 0 && (this.#groups.at(-1)?.size ?? 0) === 0) this.#groups.pop();
  }

  /** One of those that have the most, if that is more than so many. */
  longest(than: number): Group | undefined {
    if (this.#groups.length - 1 <= than) return undefined;
    const [group] = this.#groups.at(-1) ?? [];
    return group;
  }

  /** All that have so many at least. */
  from(length: number): Group[] {
    return this.#groups.slice(length).flatMap((groups) => [...(groups ?? [])]);
  }
}
