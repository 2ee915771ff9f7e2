import type { Nodes } from '../cluster/nodes.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { Signal } from '../tasks/signal.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import type { InFlight, LostClaims } from './claims.js';
import type { Completer } from './completer.js';
import type { Entry, Source } from './entry.js';
import { type Admit, ReadyQueue, type Taken } from './fair-queue.js';
import { ReadAhead } from './read-ahead.js';

/** Claims of this node that are not over: what they hold is offered in vain. */
export interface OpenClaims {
  inFlight: Pick<InFlight, 'covers' | 'size'>;
  completer: Pick<Completer, 'giveBack' | 'unread' | 'unwritten' | 'waits'>;
  lost: LostClaims;
}

/**
 * Whether its attempt runs here, or is over and not written down: to run it again would do the work twice. Or this
 * node could not read it, and leaves it to others.
 */
const isTaken = ({ inFlight, completer }: OpenClaims, wake: Wake): boolean =>
  inFlight.covers(wake.id, wake.epoch) ||
  completer.unwritten.covers(wake.id, wake.epoch) ||
  completer.unread.leaves(wake);

/** Entries of the read-ahead: at 1,000 delays per second a horizon of 30 s holds 30,000. */
const READ_AHEAD_MAX = 200_000;

/** Overdue rows are fetched ahead of their turn up to so many: the rest of the room is for what is new. */
const READY_MAX = 50_000;

interface IntakeLimits {
  /** Entries of one claim, at most. */
  claimBatch: number;
  /** What is due later is found by a load in time. */
  horizonMs: number;
}

/**
 * The one door for what this node keeps an eye on: what hears of a wake offers it here, and what has room
 * for an attempt takes from here what is due.
 */
export class Intake {
  /** Something is due. */
  readonly ready = new Signal();
  /** There is room for more overdue rows than are known. */
  readonly room = new Signal();
  /** Something was due and found no room. */
  readonly overflow = new Signal();
  /** A row of that id was read, and no statement can name it, or its claim. */
  readonly unreadable = new Signal<number>();
  readonly #readAhead: ReadAhead;
  readonly #queue = new ReadyQueue();
  #isOpen = false;

  constructor(
    wheel: WheelService,
    private readonly clock: DatabaseClock,
    private readonly nodes: Nodes,
    private readonly claims: OpenClaims,
    private readonly limits: IntakeLimits,
  ) {
    this.#readAhead = new ReadAhead(wheel, clock, READ_AHEAD_MAX, (entries) => this.#due(entries));
    clock.jumped.on(() => this.#readAhead.realign());
    nodes.changed.on(() => {
      claims.completer.unread.forget();
      this.#leaveToOthers();
    });
    claims.completer.waits.on((wake) => this.#offerIfNear(wake));
  }

  /** From now on offers count. Before the clock was read for the first time what is due was unknown. */
  open(): void {
    this.#isOpen = true;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Takes no more offers; what was taken out may still be put back. */
  shut(): void {
    this.#isOpen = false;
  }

  /** Whether there is nothing to run here, and nothing that runs. */
  get isIdle(): boolean {
    return this.#isOpen && this.isEmpty && this.claims.inFlight.size === 0;
  }

  get isEmpty(): boolean {
    return this.#readAhead.isEmpty;
  }

  /** Resolves when all that was offered was claimed, or forgotten. */
  async whenEmpty(): Promise<void> {
    if (!this.isEmpty) await this.#readAhead.emptied.next;
  }

  /** Forgets everything. */
  close(): void {
    this.shut();
    this.#readAhead.close();
  }

  /**
   * Keeps an eye on a wake, unless its claim runs here, or ran here, or it cannot run here.
   * @param walk of the scanner, if that brings it
   * @returns false when there was no room for it
   */
  offer(wake: Wake, source: Source, walk?: number): boolean {
    if (!this.#isOpen || !this.nodes.mayRun(wake.name, wake.group)) return true;
    if (!Number.isSafeInteger(wake.id) || !Number.isSafeInteger(wake.epoch) || wake.epoch < 0) {
      this.unreadable.tell(wake.id);
      return true;
    }
    if (isTaken(this.claims, wake) || this.#giveBackLost(wake)) return true;
    return this.#readAhead.arm(wake, source, walk);
  }

  /** The row of that id is gone. */
  disarm(id: number): void {
    this.#readAhead.disarm(id);
  }

  /** Whether a page of overdue rows would find something to do soon. */
  get hasRoom(): boolean {
    return this.#isOpen && this.#queue.size < this.limits.claimBatch * 2;
  }

  /** Whether more overdue rows of that name would find something to do soon; answers of which groups they would not. */
  roomFor(name: string): { butNotOf: string[] } | undefined {
    const { claimBatch } = this.limits;
    if (!this.#isOpen || this.#queue.size >= READY_MAX) return undefined;
    return this.#queue.roomFor(name, claimBatch);
  }

  /** Due entries of that name, but for stalled delays. */
  waiting(name: string): number {
    return this.#queue.sizeOf(name);
  }

  /** Whether stalled delays of that name are due. */
  hasStalled(name: string): boolean {
    return this.#queue.hasStalled(name);
  }

  /** Takes each entry that one claim admits. What is taken stays known until it is forgotten, or looked at again. */
  take(admit: Admit, mayStalled: boolean): Taken {
    return this.#queue.take(this.limits.claimBatch, admit, mayStalled);
  }

  /** How often something was taken. */
  get takes(): number {
    return this.#queue.takes;
  }

  /** Few that are due may run, and if there are others, these wait for limits of their groups. */
  get hasRoomBehind(): boolean {
    return this.#queue.size - this.#queue.held < this.limits.claimBatch;
  }

  /** The limit of that group holds nothing back any more. */
  release(name: string, group: string): void {
    this.#queue.release(name, group);
  }

  /** Nothing more is taken for now: tells the scanner, if they would be taken soon. */
  taken(): void {
    if (this.hasRoomBehind) this.room.tell();
  }

  /** Of an entry that was taken: its row is claimed, gone, or another node's. */
  forget(entry: Entry): void {
    this.#readAhead.forget(entry);
  }

  /** Of entries that were taken, in their order: a limit held them back, and they wait on. */
  putBack(entries: readonly Entry[]): void {
    for (const entry of entries.toReversed()) {
      const isWanted = entry.heard === undefined && this.nodes.mayRun(entry.name, entry.group);
      if (isWanted) this.#queue.putBack(entry);
      else this.#readAhead.forget(entry);
    }
  }

  /** Of an entry that was taken: it was locked, or its time has not quite come. */
  again(entry: Entry, inMs: number): void {
    this.#readAhead.again(entry, inMs);
  }

  /** Of an entry that was taken: its row was looked at, and says this. */
  correct(entry: Entry, wakeMs: number): void {
    this.#readAhead.correct(entry, wakeMs);
  }

  #due(entries: readonly Entry[]): void {
    let hasOverflowed = false;
    for (const entry of entries) {
      const mayRun = this.nodes.mayRun(entry.name, entry.group);
      const leftOut = mayRun ? this.#queue.push(entry) : entry;
      if (leftOut !== undefined) this.#readAhead.forget(leftOut);
      if (mayRun && leftOut !== undefined) hasOverflowed = true;
    }
    if (hasOverflowed) this.overflow.tell();
    this.ready.tell();
  }

  /** Two nodes that knew the same rows would claim them one after the other. */
  #leaveToOthers(): void {
    const { nodes } = this;
    const dropped = this.#queue.keepOnly(
      ({ id, name, group }) => nodes.owns(id, name, group) && nodes.mayRun(name, group),
    );
    for (const entry of dropped) this.#readAhead.forget(entry);
  }

  #offerIfNear(wake: Wake): void {
    if (wake.wakeMs - this.clock.nowMs() <= this.limits.horizonMs) this.offer(wake, 'read');
  }

  /**
   * Whether it is the row of a claim without an answer, committed after that was given up. While
   * another claim of it is on its way, that one's answer says what became of the row.
   */
  #giveBackLost({ id, epoch }: Wake): boolean {
    const { completer, lost } = this.claims;
    if (!lost.has(id, epoch) || this.#readAhead.isClaiming(id)) return false;
    lost.forget(id);
    completer.giveBack(id, epoch);
    return true;
  }
}
