import { CHECKED, invariant } from '../tasks/invariant.js';
import type { Job } from './job.js';
import type { NameState, NameStates } from './name-state.js';

/** Taken entries kept in front before the array is cut: rare enough to cost nothing per entry. */
const COMPACT_AT = 4_096;

/** The entries of one group: first in, first out, without moving the rest at each take. */
class Group {
  #entries: Job[] = [];
  #head = 0;
  /** Set aside until it is released. */
  isThrottled = false;
  /** The length under which it is filed in {@link Lengths}; 0: under none. */
  counted = 0;

  constructor(readonly key: string | null) {}

  push(entry: Job): void {
    this.#entries.push(entry);
  }

  /** The next entry that is still ready; forgotten ones are dropped. */
  peek(): Job | undefined {
    while (this.#head < this.#entries.length) {
      const entry = this.#entries[this.#head];
      if (entry?.state === 'ready') return entry;
      this.shift();
    }
    return undefined;
  }

  /** Drops the entry that `peek` returned. */
  shift(): void {
    this.#head += 1;
    if (this.#head === this.#entries.length || this.#head === COMPACT_AT) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Up to `most` entries, as they come next. */
  next(most: number): Job[] {
    return this.#entries
      .slice(this.#head, this.#head + most)
      .filter(({ state }) => state === 'ready');
  }

  unshift(entry: Job): void {
    if (this.#head === 0) this.#entries.unshift(entry);
    else this.#entries[--this.#head] = entry;
  }

  /** Removes the newest entry that is still ready. */
  pop(): Job | undefined {
    while (this.length > 0) {
      const entry = this.#entries.pop();
      if (entry?.state === 'ready') return entry;
    }
    return undefined;
  }

  /** @returns those that it drops */
  keepOnly(isWanted: (entry: Job) => boolean): Job[] {
    const waiting = this.#entries.slice(this.#head).filter(({ state }) => state === 'ready');
    this.#entries = waiting.filter(isWanted);
    this.#head = 0;
    return waiting.filter((entry) => !isWanted(entry));
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }
}

/** Skipped groups that are remembered; beyond these a group may run out of order. */
const GROUPS_MAX = 100_000;

/**
 * If a scan skips an entry for lack of room, it skips every later entry of that group; otherwise
 * the group would run out of order. The next scan finds them all.
 */
class SkippedGroups {
  readonly #groups = new Set<string>();
  #scanNo = 0;

  /** A new scan has skipped nothing yet. */
  follow({ scanNo }: Job): void {
    if (scanNo <= this.#scanNo) return;
    this.#scanNo = scanNo;
    this.#groups.clear();
  }

  /** Whether its scan skipped an earlier entry of its group. */
  isBehind({ group, scanNo }: Job): boolean {
    return scanNo > 0 && group !== null && this.#groups.has(group);
  }

  /** @param by the entry that was offered: it is skipped, or displaces the one that is */
  skip(entry: Job, by: Job): void {
    const isUnscanned = entry === by && by.scanNo === 0;
    if (entry.group === null || isUnscanned || this.#groups.size >= GROUPS_MAX) return;
    this.#groups.add(entry.group);
  }
}

/**
 * Admits an entry to the claim that is being put together. `no`: nothing more of its name is
 * admitted; `group full`: nothing more of its group; `group throttled`: nothing of its group until
 * that is released.
 */
export type Admit = (
  entry: Job,
  name: NameState,
) => 'yes' | 'no' | 'group full' | 'group throttled';

/**
 * The due entries of one name in the order of their arrival: a queue for each group, and the groups
 * take turns. Entries without a group are one group.
 *
 * Throttled groups are set aside. There may be thousands, and no delay that runs costs an iteration
 * over them: only {@link NameQueue.keepOnly} makes one, when ownership changes.
 */
class NameQueue {
  /** Served, or released, least recently first. */
  readonly #turns = new Map<string | null, Group>();
  /** Throttled groups, oldest first. */
  readonly #aside = new Map<string | null, Group>();
  /** The only group, mostly the one of entries without a group: it needs no turns. */
  #only: Group | undefined;
  readonly #lengths = new Lengths();
  readonly #skipped = new SkippedGroups();
  length = 0;
  /** Entries of throttled groups. */
  throttled = 0;

  constructor(
    readonly name: NameState,
    private readonly isStalled: boolean,
  ) {}

  /** Groups with at least so many entries. */
  fullGroups(from: number): string[] {
    return this.#byLength.from(from).flatMap(({ key }) => key ?? []);
  }

  /** Whether any entry has a group. */
  get hasGroups(): boolean {
    return this.#size > (this.#turns.has(null) ? 1 : 0);
  }

  /** @returns the entry that finds no room: this one, or one that it displaces */
  offer(entry: Job, isFull: boolean): Job | undefined {
    this.#skipped.follow(entry);
    if (this.#skipped.isBehind(entry)) return entry;
    const leftOut = isFull ? this.#displace(entry) : undefined;
    if (leftOut !== entry) this.add(entry);
    if (leftOut !== undefined) this.#skipped.skip(leftOut, entry);
    return leftOut;
  }

  /** @param isFirst it was taken and did not begin: it is the first of its group again */
  add(entry: Job, isFirst = false): void {
    const group = this.#groupOf(entry);
    entry.become('ready');
    if (isFirst) group.unshift(entry);
    else group.push(entry);
    this.#count(group, 1);
  }

  /**
   * Makes room in a full queue for an entry whose group has less than its share: at the cost of the
   * longest group or, when there are more groups than room, of a throttled one.
   *
   * @returns the newest entry of that group, or this one; undefined if a forgotten entry made room
   */
  #displace(entry: Job): Job | undefined {
    const own = this.#find(entry.group);
    const groups = this.#size + (own === undefined ? 1 : 0);
    const before = this.length;
    const share = Math.max(1, Math.floor(before / groups));
    if ((own?.length ?? 0) >= share) return entry;
    // With fewer entries than groups no group has more than one.
    const isCrowded = before >= groups;
    if (!isCrowded && own?.isThrottled === true) return entry;
    const [aside] = this.#aside.values();
    const donor = isCrowded ? this.#byLength.longest(share) : aside;
    if (donor === undefined) return entry;
    const out = this.#pop(donor);
    return out === undefined && this.length === before ? entry : out;
  }

  /** Takes one entry of the least recently served group that is admitted. */
  serve(admit: Admit): boolean {
    if (this.#only !== undefined) return this.#ask(this.#only, admit) === 'yes';
    // A group that is skipped moves to the back, where this loop would meet it once more.
    let left = this.#turns.size;
    for (const [key, group] of this.#turns) {
      if (left === 0) break;
      left -= 1;
      const answer = this.#ask(group, admit);
      if (answer === 'no') return false;
      this.#turns.delete(key);
      if (group.length > 0) (group.isThrottled ? this.#aside : this.#turns).set(key, group);
      if (answer === 'yes') return true;
    }
    return false;
  }

  /** Up to `most` entries, those that come next of as many groups as possible. */
  next(most: number): Job[] {
    const groups = [...this.#turns.values(), ...this.#aside.values()].slice(0, most);
    const ofEach = Math.floor(most / groups.length);
    return groups.flatMap((group) => group.next(ofEach));
  }

  /** A throttled group takes turns again, behind all others. */
  release(key: string): void {
    const group = this.#aside.get(key);
    if (group === undefined) return;
    this.#aside.delete(key);
    group.isThrottled = false;
    this.throttled -= group.length;
    this.#turns.set(key, group);
  }

  /** @returns those that it drops */
  keepOnly(isWanted: (entry: Job) => boolean): Job[] {
    const dropped: Job[] = [];
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
    const answer = entry === undefined ? 'group full' : admit(entry, this.name);
    if (entry !== undefined && answer === 'yes') {
      group.shift();
      entry.become('claiming');
    }
    this.#count(group, group.length - before);
    if (answer === 'group throttled') this.#setAside(group);
    return answer;
  }

  #setAside(group: Group): void {
    group.isThrottled = true;
    this.throttled += group.length;
    if (this.#only !== group) return;
    this.#only = undefined;
    this.#drop(group);
    this.#aside.set(group.key, group);
  }

  #pop(group: Group): Job | undefined {
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

  /** A group has so many more entries. */
  #count(group: Group, more: number): void {
    this.length += more;
    if (this.isStalled) this.name.stalledDue += more;
    else this.name.due += more;
    if (group.isThrottled) this.throttled += more;
    if (CHECKED) {
      const { throttled, length } = this;
      invariant(throttled >= 0 && throttled <= length, 'entries of a name', throttled, length);
    }
    if (this.#only === undefined) this.#lengths.set(group);
  }

  /** The only group is filed on demand. */
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

  #groupOf({ group: key }: Job): Group {
    const known = this.#find(key);
    if (known !== undefined) return known;
    const group = new Group(key);
    if (this.#only !== undefined) this.#lengths.set(this.#only);
    this.#turns.set(key, group);
    this.#only = this.#size === 1 ? group : undefined;
    return group;
  }
}

/** Groups by their length: the longest is found without an iteration over the others. */
class Lengths {
  readonly #groups: Set<Group>[] = [];

  /** To be called after its length changed. */
  set(group: Group): void {
    if (group.counted === group.length) return;
    this.#groups[group.counted]?.delete(group);
    group.counted = group.length;
    if (group.length > 0) (this.#groups[group.length] ??= new Set()).add(group);
    while (this.#groups.length > 0 && (this.#groups.at(-1)?.size ?? 0) === 0) this.#groups.pop();
  }

  /** One of the longest, if longer than that. */
  longest(than: number): Group | undefined {
    if (this.#groups.length - 1 <= than) return undefined;
    const [group] = this.#groups.at(-1) ?? [];
    return group;
  }

  /** All of at least that length. */
  from(length: number): Group[] {
    return this.#groups.slice(length).flatMap((groups) => [...(groups ?? [])]);
  }
}

/** Due entries of one name in memory; a scan finds the rest once there is room. */
const NAME_MAX = 10_000;

/**
 * Entries of all names that count as a backlog: half the room of the read-ahead. From then on a
 * name may add no more than a claim takes, so that the backlogs of some leave room for the others.
 */
const BACKLOG = 100_000;
const NAME_MAX_IN_BACKLOG = 500;

/**
 * A queue for each name with due entries, and the names take turns: one that was served moves
 * behind all others. A name without free capacity keeps its position.
 */
class Lane {
  /** Served least recently first; an empty queue is dropped. */
  readonly #queues = new Map<string, NameQueue>();
  size = 0;

  constructor(
    private readonly names: Pick<NameStates, 'of'>,
    private readonly isStalled: boolean,
  ) {}

  /** Entries of throttled groups. */
  get throttled(): number {
    let throttled = 0;
    for (const queue of this.#queues.values()) throttled += queue.throttled;
    return throttled;
  }

  queueOf(name: string): NameQueue | undefined {
    return this.#queues.get(name);
  }

  /** Up to `most` entries of each name. */
  next(most: number): Job[] {
    return [...this.#queues.values()].flatMap((queue) => queue.next(most));
  }

  /** @returns an entry without room: no name may take the room of another, nor may a group */
  push(entry: Job): Job | undefined {
    const queue = this.#queueFor(entry);
    const isFull = queue.length >= (this.size < BACKLOG ? NAME_MAX : NAME_MAX_IN_BACKLOG);
    const before = queue.length;
    const leftOut = queue.offer(entry, isFull);
    this.size += queue.length - before;
    return leftOut;
  }

  /** An entry that was taken and did not begin, even if its queue is full by now. */
  putBack(entry: Job): void {
    this.#queueFor(entry).add(entry, true);
    this.size += 1;
  }

  /**
   * Takes up to `limit` entries, one of each name in turn as long as it is admitted.
   * @returns how many it took
   */
  take(limit: number, admit: Admit): number {
    let taken = 0;
    // A name that is served moves to the back, where this loop meets it once more.
    for (const [name, queue] of this.#queues) {
      if (taken >= limit) break;
      const before = queue.length;
      const isServed = queue.serve(admit);
      this.size -= before - queue.length;
      if (isServed || queue.length === 0) this.#queues.delete(name);
      if (!isServed) continue;
      if (queue.length > 0) this.#queues.set(name, queue);
      taken += 1;
    }
    return taken;
  }

  /** @returns the entries that it drops */
  keepOnly(isWanted: (entry: Job) => boolean): Job[] {
    const dropped: Job[] = [];
    this.size = 0;
    for (const [name, queue] of this.#queues) {
      dropped.push(...queue.keepOnly(isWanted));
      this.size += queue.length;
      if (queue.length === 0) this.#queues.delete(name);
    }
    return dropped;
  }

  #queueFor({ name }: Job): NameQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new NameQueue(this.names.of(name), this.isStalled);
      this.#queues.set(name, queue);
    }
    return queue;
  }
}

/** The lane that a take was served from. */
export type Taken = 'stalled' | 'healthy' | 'nothing';

/**
 * What is due and not yet claimed. Only what has a slot, or will have one soon, is taken out, so
 * that leases and attempts do not age in here. Stalled delays, whose earlier attempt reported no
 * result, have a lane of their own and are taken one by one. The lanes take turns, the names of a
 * lane, and the groups of a name.
 */
export class ReadyQueue {
  readonly #healthy: Lane;
  readonly #stalled: Lane;
  #isStalledTurn = true;
  /** How often something was taken. */
  takes = 0;

  constructor(names: Pick<NameStates, 'of'>) {
    this.#healthy = new Lane(names, false);
    this.#stalled = new Lane(names, true);
  }

  get size(): number {
    return this.#healthy.size + this.#stalled.size;
  }

  /** Entries of throttled groups, as far as these were met. */
  get throttled(): number {
    return this.#healthy.throttled + this.#stalled.throttled;
  }

  /** The ids of up to `most` entries of each name. */
  nextIds(most: number): number[] {
    return [this.#healthy, this.#stalled].flatMap((lane) => lane.next(most)).map(({ id }) => id);
  }

  /** Whether more of that name has room; `butNotOf` lists its full groups, with so many entries. */
  roomFor(name: string, full: number): { butNotOf: string[] } | undefined {
    const queue = this.#healthy.queueOf(name);
    if (queue === undefined || queue.length < full) return { butNotOf: [] };
    return queue.hasGroups ? { butNotOf: queue.fullGroups(full) } : undefined;
  }

  /** That group is not throttled any more. */
  release(name: string, group: string): void {
    for (const lane of [this.#healthy, this.#stalled]) lane.queueOf(name)?.release(group);
  }

  /** @returns the entry that finds no room when the queue of its name is full */
  push(entry: Job): Job | undefined {
    return (entry.stalled ? this.#stalled : this.#healthy).push(entry);
  }

  /** An entry that was taken and did not begin is the first of its group again. */
  putBack(entry: Job): void {
    (entry.stalled ? this.#stalled : this.#healthy).putBack(entry);
  }

  /**
   * Takes one stalled delay, or up to `limit` others: from the less recently served lane of which
   * something is admitted.
   *
   * @param mayStalled whether a stalled delay may run now
   */
  take(limit: number, admit: Admit, mayStalled: boolean): Taken {
    const taken = this.#take(limit, admit, mayStalled);
    if (taken !== 'nothing') this.takes += 1;
    return taken;
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
  keepOnly(isWanted: (entry: Job) => boolean): Job[] {
    return [...this.#stalled.keepOnly(isWanted), ...this.#healthy.keepOnly(isWanted)];
  }

  #takeStalled(admit: Admit): boolean {
    if (this.#stalled.take(1, admit) === 0) return false;
    this.#isStalledTurn = false;
    return true;
  }
}
