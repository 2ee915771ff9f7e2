import type { Nodes } from '../cluster/nodes.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { inOwnScope } from '../tasks/own-scope.js';
import { Condition } from '../tasks/signal.js';
import type { WheelChannel } from '../timer-wheel/wheel.channel.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import type { InFlight, LostClaims } from './claims.js';
import type { Completer } from './completer.js';
import type { NameStates } from './name-state.js';
import { type Admit, type Entry, ReadyQueue, type Source, type Taken } from './fair-queue.js';

/** @param handle in the wheel, if it is there */
const entryOf = (
  { id, epoch, name, group, wakeMs, stalled, failed, orphaned = false }: Wake,
  state: Entry['state'],
  handle: number,
  hinted: boolean,
  scanNo: number,
): Entry => ({
  // Written out: spreading costs as much as all else that is done for an entry.
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
 * Whether a wake supersedes what is known of its row. A row with an older epoch than a hinted entry
 * comes from an old page, or the entry's write was rolled back: looking sooner does no harm.
 */
function isBetter(wake: Wake, isHinted: boolean, known: Entry): boolean {
  const isSooner = wake.wakeMs < known.wakeMs;
  // An orphaned entry keeps its time and position, whatever other pages say: the claim looks again.
  if (known.orphaned && wake.epoch === known.epoch) return isSooner;
  if (wake.epoch < known.epoch) return known.hinted && isSooner;
  return isHinted ? isSooner : true;
}

/** The handle of an entry that is not in the wheel. */
const NO_HANDLE = 0;

/** Hinted wakes take at most a tenth of the room: any role that can NOTIFY could fill it. */
const HINTED_SHARE = 10;

/**
 * The near future in memory: a cache of `(id, epoch, name, wake)` that can be dropped at any time,
 * with one entry per id. Of confirmed wakes the newest epoch wins; a hint can only bring a look at
 * the row forward, never delay it. A look that comes too early reads the row and corrects the entry.
 */
export class ReadAhead {
  readonly #entries = new Map<number, Entry>();
  readonly #channel: WheelChannel;
  /** Overdue on arrival: these skip the wheel and are handed over together in the next turn. */
  #overdue: Entry[] = [];
  #turn: NodeJS.Immediate | undefined;
  readonly #onTurn = (): void => inOwnScope(() => this.#handOverOverdue());
  #hinted = 0;
  readonly emptied = new Condition();

  /** @param onDue receives the entries that are due, in the order of their wakes */
  constructor(
    wheel: WheelService,
    private readonly clock: DatabaseClock,
    private readonly entriesMax: number,
    private readonly onDue: (entries: Entry[]) => void,
  ) {
    this.#channel = wheel.channel((ids) => this.#expire(ids), entriesMax);
  }

  /**
   * Watches a wake.
   * @param scanNo number of the scan that found it; 0: no scan did
   * @returns false when there is no room: a later load brings it again
   */
  arm(wake: Wake, source: Source, scanNo = 0): boolean {
    const isHinted = source === 'hinted';
    const known = this.#entries.get(wake.id);
    if (known === undefined) return this.#add(wake, isHinted, scanNo);
    // The answer of the claim in flight says what became of the row, up to its epoch.
    if (known.state === 'claiming') {
      if (wake.epoch > known.epoch) known.later = [wake, source];
      return true;
    }
    if (wake.epoch === known.epoch && wake.wakeMs === known.wakeMs) {
      if (!isHinted) this.#confirm(known);
      return true;
    }
    if (!isBetter(wake, isHinted, known)) return true;
    if (isHinted && !known.hinted && this.#isHintedFull) return false;
    this.forget(known);
    return this.#add(wake, isHinted, scanNo);
  }

  /** The row of this entry was read and has this wake. */
  correct(entry: Entry, wakeMs: number): void {
    entry.wakeMs = wakeMs;
    entry.orphaned = false;
    this.#confirm(entry);
  }

  /** Whether a claim of that row is in flight. */
  isClaiming(id: number): boolean {
    return this.#entries.get(id)?.state === 'claiming';
  }

  /** Makes an entry due again later: its row was locked, or not due yet. */
  again(entry: Entry, inMs: number): void {
    const deadlineMs = performance.now() + inMs;
    const handle = this.#channel.add(deadlineMs, entry.id);
    if (handle === undefined) return this.forget(entry);
    entry.handle = handle;
    entry.state = 'wheel';
    this.#armLater(entry);
  }

  /** Forgets an id whose row is gone. An unknown id is ignored. */
  disarm(id: number): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.state !== 'claiming') this.forget(entry);
  }

  forget(entry: Entry): void {
    if (entry.state === 'wheel') this.#channel.cancel(entry.handle);
    this.#drop(entry);
    this.#armLater(entry);
  }

  /** The database's clock has jumped: works out every deadline again. */
  realign(): void {
    for (const entry of this.#entries.values()) {
      if (entry.state === 'wheel') {
        this.#channel.move(entry.handle, this.clock.toMonotonicMs(entry.wakeMs));
      }
    }
  }

  close(): void {
    clearImmediate(this.#turn);
    this.#entries.clear();
    this.#channel.close();
    this.emptied.notify();
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Arms the wake that arrived while the entry was being claimed. */
  #armLater(entry: Entry): void {
    const { later } = entry;
    entry.later = undefined;
    if (later !== undefined) this.arm(...later);
  }

  get #isHintedFull(): boolean {
    return this.#hinted >= this.entriesMax / HINTED_SHARE;
  }

  #add(wake: Wake, hinted: boolean, scanNo: number): boolean {
    const deadlineMs = this.clock.toMonotonicMs(wake.wakeMs);
    if (hinted && this.#isHintedFull) return false;
    if (this.#entries.size >= this.entriesMax && (hinted || !this.#dropFarthest(deadlineMs))) {
      return false;
    }
    const isOverdue = deadlineMs <= performance.now();
    const handle = isOverdue ? NO_HANDLE : this.#channel.add(deadlineMs, wake.id);
    if (handle === undefined) return false;
    const entry = entryOf(wake, isOverdue ? 'due' : 'wheel', handle, hinted, scanNo);
    this.#entries.set(wake.id, entry);
    if (CHECKED) invariant(this.#entries.size <= this.entriesMax, 'entries', this.#entries.size);
    if (hinted) this.#hinted += 1;
    if (isOverdue) {
      this.#overdue.push(entry);
      this.#turn ??= setImmediate(this.#onTurn);
    }
    return true;
  }

  /** Makes room: a later load brings the farthest wake again. */
  #dropFarthest(afterMs: number): boolean {
    const id = this.#channel.evictFarthest(afterMs);
    const entry = id === undefined ? undefined : this.#entries.get(id);
    if (entry === undefined) return false;
    this.#drop(entry);
    return true;
  }

  /** The wheel goes first: on a busy node it is late, and its wakes are earlier. */
  #handOverOverdue(): void {
    this.#turn = undefined;
    if (this.#channel.turn()) this.#turn ??= setImmediate(this.#onTurn);
    else this.#handOver([], Infinity);
  }

  /** @param untilMs overdue entries up to this wake are handed over with the others */
  #handOver(due: Entry[], untilMs: number): void {
    if (this.#overdue.length > 0) {
      const later: Entry[] = [];
      for (const entry of this.#overdue) {
        if (entry.state === 'due') (entry.wakeMs <= untilMs ? due : later).push(entry);
      }
      this.#overdue = later;
      due.sort((a, b) => a.wakeMs - b.wakeMs);
    }
    if (due.length > 0) this.onDue(due);
  }

  #drop(entry: Entry): void {
    entry.state = 'gone';
    if (this.#entries.get(entry.id) !== entry) return;
    this.#entries.delete(entry.id);
    this.#confirm(entry);
    if (this.isEmpty) this.emptied.notify();
  }

  #confirm(entry: Entry): void {
    if (entry.hinted) this.#hinted -= 1;
    entry.hinted = false;
    if (CHECKED) invariant(this.#hinted >= 0, 'hinted entries', this.#hinted);
  }

  #expire(ids: readonly number[]): void {
    const due: Entry[] = [];
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry?.state === 'wheel') due.push(entry);
    }
    this.#handOver(due, due.at(-1)?.wakeMs ?? -Infinity);
  }
}

/** The claims that this node holds: offering their rows again would be useless. */
export interface OpenClaims {
  inFlight: Pick<InFlight, 'covers' | 'size'>;
  completer: Pick<Completer, 'giveBack' | 'unread' | 'unwritten'>;
  lost: LostClaims;
}

/**
 * Whether the attempt runs here, or its outcome is not written yet: running it again would do the
 * work twice. Or this node could not read the payload and leaves the delay to others.
 */
const isTaken = ({ inFlight, completer }: OpenClaims, wake: Wake): boolean =>
  inFlight.covers(wake.id, wake.epoch) ||
  completer.unwritten.covers(wake.id, wake.epoch) ||
  completer.unread.leaves(wake);

/** Entries in memory: at 1,000 delays a second a horizon of 30 s holds 30,000. */
const ENTRIES_MAX = 200_000;

/** Overdue entries that scans may fetch; the rest of the room is for new delays. */
const READY_MAX = 50_000;

interface QueueLimits {
  /** Entries of one claim, at most. */
  claimBatch: number;
  /** A load finds in time what is due later. */
  horizonMs: number;
}

/** What the timer queue reports. */
export interface QueuePort {
  /** New entries are due. */
  due(): void;
  /** A row was read whose id or epoch no statement of this library can name. */
  unreadable(id: number): void;
}

/**
 * The wakes that this node watches. Loads, scans, hints and commits offer them; they wait in the
 * timing wheel and move to the ready queue when they are due, and the loop takes them from there.
 */
export class TimerQueue {
  readonly #readAhead: ReadAhead;
  readonly #ready: ReadyQueue;
  #isOpen = false;
  #overflows = 0;

  constructor(
    wheel: WheelService,
    private readonly clock: DatabaseClock,
    private readonly nodes: Nodes,
    private readonly claims: OpenClaims,
    names: Pick<NameStates, 'of'>,
    private readonly limits: QueueLimits,
    private readonly to: QueuePort,
  ) {
    this.#readAhead = new ReadAhead(wheel, clock, ENTRIES_MAX, (entries) => this.#due(entries));
    this.#ready = new ReadyQueue(names);
  }

  /** Accepts offers from now on. Before the first reading of the clock, what is due is unknown. */
  open(): void {
    this.#isOpen = true;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Accepts no more offers. Taken entries may still be put back. */
  shut(): void {
    this.#isOpen = false;
  }

  /** Whether nothing is watched and nothing runs. */
  get isIdle(): boolean {
    return this.#isOpen && this.isEmpty && this.claims.inFlight.size === 0;
  }

  get isEmpty(): boolean {
    return this.#readAhead.isEmpty;
  }

  /** Entries that are watched, in the wheel and elsewhere, and those of them that are ready. */
  get sizes(): { watched: number; ready: number } {
    return { watched: this.#readAhead.size, ready: this.#ready.size };
  }

  /** The ids of some ready delays, up to `most` of each name. */
  readyIds(most: number): number[] {
    return this.#ready.nextIds(most);
  }

  /** Resolves when every entry was claimed or forgotten. */
  async whenEmpty(): Promise<void> {
    if (!this.isEmpty) await this.#readAhead.emptied.next;
  }

  /** Forgets everything. */
  close(): void {
    this.shut();
    this.#readAhead.close();
  }

  /** The database's clock has jumped: works out every deadline again. */
  realign(): void {
    this.#readAhead.realign();
  }

  /**
   * Watches a wake, unless this node holds its claim or may not run its name.
   * @param scanNo number of the scan that found it, if one did
   * @returns false when there is no room: a later load brings it again
   */
  offer(wake: Wake, source: Source, scanNo?: number): boolean {
    if (!this.#isOpen || !this.nodes.mayRun(wake.name, wake.group)) return true;
    if (!Number.isSafeInteger(wake.id) || !Number.isSafeInteger(wake.epoch) || wake.epoch < 0) {
      this.to.unreadable(wake.id);
      return true;
    }
    if (isTaken(this.claims, wake) || this.#giveBackLost(wake)) return true;
    return this.#readAhead.arm(wake, source, scanNo);
  }

  /** Offers the next wake of a delay whose attempt has ended here, if it is within the horizon. */
  offerIfNear(wake: Wake): void {
    if (wake.wakeMs - this.clock.nowMs() <= this.limits.horizonMs) this.offer(wake, 'confirmed');
  }

  /** The row of that id is gone. */
  disarm(id: number): void {
    this.#readAhead.disarm(id);
  }

  /** Whether a page of overdue rows would run soon. */
  get hasRoom(): boolean {
    return this.#isOpen && this.#ready.size < this.limits.claimBatch * 2;
  }

  /** Whether more overdue rows of that name would run soon; `butNotOf` lists its full groups. */
  roomFor(name: string): { butNotOf: string[] } | undefined {
    const { claimBatch } = this.limits;
    if (!this.#isOpen || this.#ready.size >= READY_MAX) return undefined;
    return this.#ready.roomFor(name, claimBatch);
  }

  /** Takes what one claim admits. Each entry stays known until it is forgotten or put back. */
  take(admit: Admit, mayStalled: boolean): Taken {
    return this.#ready.take(this.limits.claimBatch, admit, mayStalled);
  }

  /** How often something was taken. */
  get takes(): number {
    return this.#ready.takes;
  }

  /** How many due entries found no room and were left to a later scan. */
  get overflows(): number {
    return this.#overflows;
  }

  /** Whether few due entries could run now: the others are throttled. */
  get hasRoomBehind(): boolean {
    return this.#ready.size - this.#ready.throttled < this.limits.claimBatch;
  }

  /** That group is not throttled any more. */
  release(name: string, group: string): void {
    this.#ready.release(name, group);
  }

  /** For a taken entry: its row is claimed, gone, or another node's. */
  forget(entry: Entry): void {
    this.#readAhead.forget(entry);
  }

  /** For taken entries, in their order: they are throttled and stay due. */
  putBack(entries: readonly Entry[]): void {
    for (const entry of entries.toReversed()) {
      const isWanted = entry.later === undefined && this.nodes.mayRun(entry.name, entry.group);
      if (isWanted) this.#ready.putBack(entry);
      else this.#readAhead.forget(entry);
    }
  }

  /** For a taken entry: its row was locked, or not due yet. */
  again(entry: Entry, inMs: number): void {
    this.#readAhead.again(entry, inMs);
  }

  /** For a taken entry: its row was read and has this wake. */
  correct(entry: Entry, wakeMs: number): void {
    this.#readAhead.correct(entry, wakeMs);
  }

  /** Ownership changed: two nodes that watch the same rows would both claim them. */
  leaveToOthers(): void {
    const { nodes } = this;
    const dropped = this.#ready.keepOnly(
      ({ id, name, group }) => nodes.owns(id, name, group) && nodes.mayRun(name, group),
    );
    for (const entry of dropped) this.#readAhead.forget(entry);
  }

  #due(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const mayRun = this.nodes.mayRun(entry.name, entry.group);
      const leftOut = mayRun ? this.#ready.push(entry) : entry;
      if (leftOut !== undefined) this.#readAhead.forget(leftOut);
      if (mayRun && leftOut !== undefined) this.#overflows += 1;
    }
    this.to.due();
  }

  /**
   * Gives back the row of a claim that was committed after its answer was given up. While another
   * claim of the row is in flight, that claim's answer says what became of it.
   */
  #giveBackLost({ id, epoch }: Wake): boolean {
    const { completer, lost } = this.claims;
    if (!lost.has(id, epoch) || this.#readAhead.isClaiming(id)) return false;
    lost.forget(id);
    completer.giveBack(id, epoch);
    return true;
  }
}
