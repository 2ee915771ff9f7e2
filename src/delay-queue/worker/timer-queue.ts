import type { Nodes } from '../cluster/nodes.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { Wake } from '../store/rows/delay-rows.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import type { InFlight, LostClaims } from './claims.js';
import type { Completer } from './completer.js';
import type { NameStates } from './name-state.js';
import { type Admit, type Entry, ReadyQueue, type Source, type Taken } from './fair-queue.js';
import { ReadAhead } from './read-ahead.js';

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
