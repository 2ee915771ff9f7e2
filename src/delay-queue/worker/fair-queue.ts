import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';

/**
 * Where a wake is known from. `confirmed`: a row says so, or the commit of our own that wrote it. `hinted`: a hint,
 * or a commit of which a part may have been rolled back.
 */
export type Source = 'confirmed' | 'hinted';

/**
 * A wake this node keeps an eye on: waiting in the wheel, due when it came and told of in the next
 * turn, ready, or being claimed.
 */
export interface Entry extends Wake {
  state: 'wheel' | 'due' | 'ready' | 'claiming' | 'gone';
  handle: number;
  /** Claims in a row that found it locked or early. */
  timesNotClaimed: number;
  /** A claim that asked for it failed: the next one asks for no more than so many. */
  claimedWithin?: number | undefined;
  /** It was not read from a row here: there may never have been one. */
  hinted: boolean;
  /** Of the scanner's walk that brought it, in the order of wakes; 0: something else did. */
  scanNo: number;
  /** What came of a later epoch while its claim was under way. */
  later?: [wake: Wake, source: Source] | undefined;
}

/** @param handle of the wheel, if it stands there */
export const entryOf = (
  { id, epoch, name, group, wakeMs, stalled, failed, orphaned = false }: Wake,
  state: Entry['state'],
  handle: number,
  hinted: boolean,
  scanNo: number,
): Entry => ({
  // Written out: a copy by spreading costs as much as all else that is done for an entry.
  id,
  epoch,
  name,
  group,
  wakeMs,
  stalled,
  failed,
  orphaned,
  state,
  handle,
  timesNotClaimed: 0,
  claimedWithin: undefined,
  hinted,
  scanNo,
  later: undefined,
});

/**
 * Whether a wake says more of a row than what is known of it. A row that says less than an entry that was only
 * told is an old page, or that entry never was: to look earlier does no harm.
 */
export function isBetter(wake: Wake, isTold: boolean, known: Entry): boolean {
  const isSooner = wake.wakeMs < known.wakeMs;
  // What was found without its process keeps its time and its turn, whatever other pages say: the claim looks again.
  if (known.orphaned && wake.epoch === known.epoch) return isSooner;
  if (wake.epoch < known.epoch) return known.hinted && isSooner;
  return isTold ? isSooner : true;
}

/** Entries left behind in front of a line before it is cut: rare enough to cost nothing per entry. */
const COMPACT_AT = 4_096;

/** First in, first out, without moving the rest on every take. */
class Fifo {
  #entries: Entry[] = [];
  #head = 0;

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** The next entry that is still ready; those that were forgotten meanwhile fall out. */
  peek(): Entry | undefined {
    while (this.#head < this.#entries.length) {
      const entry = this.#entries[this.#head];
      if (entry?.state === 'ready') return entry;
      this.shift();
    }
    return undefined;
  }

  /** Drops the entry that `peek` answered. */
  shift(): void {
    this.#head += 1;
    if (this.#head === this.#entries.length || this.#head === COMPACT_AT) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  /** In front of all others. */
  unshift(entry: Entry): void {
    if (this.#head === 0) this.#entries.unshift(entry);
    else this.#entries[--this.#head] = entry;
  }

  /** Takes the newest back out. */
  pop(): Entry | undefined {
    while (this.length > 0) {
      const entry = this.#entries.pop();
      if (entry?.state === 'ready') return entry;
    }
    return undefined;
  }

  /** @returns those that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    const waiting = this.#entries.slice(this.#head).filter(({ state }) => state === 'ready');
    this.#entries = waiting.filter(isWanted);
    this.#head = 0;
    return waiting.filter((entry) => !isWanted(entry));
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }
}

/** Groups of which it is known that something was left out; those beyond may run in another order. */
const GROUPS_MAX = 100_000;

/**
 * The scanner walks through what is due, in its order. When a walk brings something of a group of which it brought an earlier one
 * that was left out, that is left out as well: else the delays of a group would run in another order. The next walk brings all.
 */
class SkippedGroups {
  readonly #groups = new Set<string>();
  #scanNo = 0;

  /** Of the next walk nothing is missing. */
  follow({ scanNo }: Entry): void {
    if (scanNo <= this.#scanNo) return;
    this.#scanNo = scanNo;
    this.#groups.clear();
  }

  /** Whether something that comes before it is missing. */
  isBehind({ group, scanNo }: Entry): boolean {
    return scanNo > 0 && group !== null && this.#groups.has(group);
  }

  /** @param by what was offered: it, or what it has displaced, is left out */
  leaveOut(entry: Entry, by: Entry): void {
    const isFound = entry === by && by.scanNo === 0;
    if (entry.group === null || isFound || this.#groups.size >= GROUPS_MAX) return;
    this.#groups.add(entry.group);
  }
}

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
class Line {
  /** Served, or released, least recently first. */
  readonly #turns = new Map<string | null, Group>();
  /** Set aside first, first. */
  readonly #aside = new Map<string | null, Group>();
  /** Of a line with one group, mostly the one without a name: it needs no turns. */
  #only: Group | undefined;
  readonly #lengths = new Lengths();
  readonly #gaps = new SkippedGroups();
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
  fullGroups(from: number): string[] {
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
    entry.state = 'ready';
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
    entry.state = 'ready';
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
    if (CHECKED) {
      const [held, length] = [this.#held, this.#length];
      invariant(held >= 0 && held <= length, 'entries of a name', held, length);
    }
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

/** Due entries of one name kept in memory; what does not fit is found again by a sweep, once there is room. */
const NAME_MAX = 10_000;

/**
 * So many of all names together are a crowd: half of what the read-ahead has room for. From then on a line takes
 * no more than a claim takes at once, so that the crowds of some names leave room for what others schedule.
 */
const BACKLOG = 100_000;
const NAME_MAX_IN_BACKLOG = 500;

/**
 * A line for each name that waits, and the names take turns: one that was served goes behind all others,
 * and no other moves. A name that finds no place so keeps its place for the moment when there is one.
 */
class Lane {
  /** Served least recently first. A line that is empty has no turn. */
  readonly #lines = new Map<string, Line>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many wait for limits of their groups. */
  get held(): number {
    let held = 0;
    for (const line of this.#lines.values()) held += line.held;
    return held;
  }

  sizeOf(name: string): number {
    return this.#lines.get(name)?.length ?? 0;
  }

  /** What waits of that name, if anything does. */
  queueOf(name: string): Line | undefined {
    return this.#lines.get(name);
  }

  /** @returns who is left out when its line is full: no name must take the room of another, nor must a group */
  push(entry: Entry): Entry | undefined {
    let line = this.#lines.get(entry.name);
    if (line === undefined) this.#lines.set(entry.name, (line = new Line()));
    const isFull = line.length >= (this.#size < BACKLOG ? NAME_MAX : NAME_MAX_IN_BACKLOG);
    const before = line.length;
    const leftOut = line.offer(entry, isFull);
    this.#size += line.length - before;
    return leftOut;
  }

  /** What was taken and did not begin, although its line may be full meanwhile. */
  putBack(entry: Entry): void {
    let line = this.#lines.get(entry.name);
    if (line === undefined) this.#lines.set(entry.name, (line = new Line()));
    line.putBack(entry);
    this.#size += 1;
  }

  /**
   * Takes up to `limit` entries, one of each name in turn as long as it is admitted.
   * @param admit takes a place for the entry, and answers whether there was one
   * @returns how many it took
   */
  take(limit: number, admit: Admit): number {
    let taken = 0;
    // One that is served moves to the back, where this loop meets it once more.
    for (const [name, line] of this.#lines) {
      if (taken >= limit) break;
      const isServed = this.#serve(line, admit);
      if (isServed || line.length === 0) this.#lines.delete(name);
      if (!isServed) continue;
      if (line.length > 0) this.#lines.set(name, line);
      taken += 1;
    }
    return taken;
  }

  /** @returns the entries that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    const dropped: Entry[] = [];
    this.#size = 0;
    for (const [name, line] of this.#lines) {
      dropped.push(...line.keepOnly(isWanted));
      this.#size += line.length;
      if (line.length === 0) this.#lines.delete(name);
    }
    return dropped;
  }

  #serve(line: Line, admit: Admit): boolean {
    const before = line.length;
    const isServed = line.serve(admit);
    this.#size -= before - line.length;
    return isServed;
  }
}

/** Of which lane a take has taken. */
export type Taken = 'stalled' | 'healthy' | 'nothing';

/**
 * What is due and not yet claimed. Only what has a free place is taken out, or what will
 * have one within a moment, so that leases and attempts do not age in here. Stalled delays, whose earlier attempt ended without a word, have a lane of
 * their own: they are taken one by one. The names of a lane take turns, so do the groups of a name, and the lanes.
 */
export class ReadyQueue {
  readonly #healthy = new Lane();
  readonly #stalled = new Lane();
  #isStalledTurn = true;
  #takes = 0;

  get size(): number {
    return this.#healthy.size + this.#stalled.size;
  }

  /** Entries that wait for limits of their groups, as far as has been asked. */
  get held(): number {
    return this.#healthy.held + this.#stalled.held;
  }

  /** Healthy entries of that name. */
  sizeOf(name: string): number {
    return this.#healthy.sizeOf(name);
  }

  hasStalled(name: string): boolean {
    return this.#stalled.sizeOf(name) > 0;
  }

  /** Whether there is room for more of that name, if so many are enough, but not of some of its groups. */
  roomFor(name: string, enough: number): { butNotOf: string[] } | undefined {
    const line = this.#healthy.queueOf(name);
    if (line === undefined || line.length < enough) return { butNotOf: [] };
    return line.hasGroups ? { butNotOf: line.fullGroups(enough) } : undefined;
  }

  /** A limit of that group is over: what was set aside has its turn again. */
  release(name: string, group: string): void {
    for (const lane of [this.#healthy, this.#stalled]) lane.queueOf(name)?.release(group);
  }

  /** @returns who is left out when the line of its name is full */
  push(entry: Entry): Entry | undefined {
    return (entry.stalled ? this.#stalled : this.#healthy).push(entry);
  }

  /** What was taken and did not begin waits in front of its like. */
  putBack(entry: Entry): void {
    (entry.stalled ? this.#stalled : this.#healthy).putBack(entry);
  }

  /**
   * Takes one stalled delay, or up to `limit` others: of the lane that was served longer ago, if it has
   * something that is admitted.
   *
   * @param mayStalled whether a stalled delay may run now
   */
  take(limit: number, admit: Admit, mayStalled: boolean): Taken {
    const taken = this.#take(limit, admit, mayStalled);
    if (taken !== 'nothing') this.#takes += 1;
    return taken;
  }

  /** How often something was taken. */
  get takes(): number {
    return this.#takes;
  }

  #take(limit: number, admit: Admit, mayStalled: boolean): Taken {
    if (this.#isStalledTurn && mayStalled && this.#takeStalled(admit)) return 'stalled';
    if (this.#healthy.take(limit, admit) > 0) {
      this.#isStalledTurn = true;
      return 'healthy';
    }
    return !this.#isStalledTurn && mayStalled && this.#takeStalled(admit) ? 'stalled' : 'nothing';
  }

  /** @returns the entries that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    return [...this.#stalled.keepOnly(isWanted), ...this.#healthy.keepOnly(isWanted)];
  }

  #takeStalled(admit: Admit): boolean {
    if (this.#stalled.take(1, admit) === 0) return false;
    this.#isStalledTurn = false;
    return true;
  }
}
