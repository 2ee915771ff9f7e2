import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { inOwnScope } from '../tasks/own-scope.js';
import { Condition } from '../tasks/signal.js';
import type { WheelChannel } from '../timer-wheel/wheel.channel.js';
import type { Attempt } from './attempt.js';
import type { WorkerContext } from './context.js';
import type { NameStates } from './name-state.js';
import { type Admit, ReadyQueue, type Taken } from './fair-queue.js';
import { Job, type Source } from './job.js';

/** Entries in memory: at 1,000 delays a second a horizon of 30 s holds 30,000. */
const ENTRIES_MAX = 200_000;

/** Overdue entries that scans may fetch; the rest of the room is for new delays. */
const READY_MAX = 50_000;

/** Hinted wakes take at most a tenth of the room: any role that can NOTIFY could fill it. */
const HINTED_SHARE = 10;

interface QueueParts extends Pick<
  WorkerContext,
  'wheel' | 'clock' | 'nodes' | 'jobs' | 'options' | 'claimBatch'
> {
  names: Pick<NameStates, 'of'>;
}

/** What the timer queue reports. */
export interface QueuePort {
  /** New entries are due. */
  due(): void;
  /** A row was read whose id or epoch no statement of this library can name. */
  unreadable(id: number): void;
  /** A row was read that a claim without an answer has left under that epoch. */
  giveBack(id: number, epoch: number): void;
}

/**
 * The wakes that this node watches. Loads, scans, hints and commits offer them; they wait in the
 * timing wheel and move to the ready queue when they are due, and the loop takes them from there.
 *
 * A cache that can be dropped at any time. Of confirmed wakes the newest epoch wins; a hint can only
 * bring a look at the row forward, never delay it. A look that comes too early reads the row and
 * corrects the entry.
 */
export class TimerQueue {
  readonly ready: ReadyQueue;
  readonly #channel: WheelChannel;
  /** Overdue on arrival: these skip the wheel and are handed over together in the next turn. */
  #overdue: Job[] = [];
  #turn: NodeJS.Immediate | undefined;
  readonly #onTurn = (): void => inOwnScope(() => this.#handOverOverdue());
  readonly #emptied = new Condition();
  #hinted = 0;
  /** Due entries that found no room and were left to a later scan. */
  overflows = 0;
  #isOpen = false;

  /** @param entriesMax watched at a time, at most */
  constructor(
    private readonly parts: QueueParts,
    private readonly to: QueuePort,
    private readonly entriesMax = ENTRIES_MAX,
  ) {
    this.#channel = parts.wheel.channel((ids) => this.#expire(ids), entriesMax);
    this.ready = new ReadyQueue(parts.names);
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
    return this.#isOpen && this.isEmpty && this.parts.jobs.runningCount === 0;
  }

  get isEmpty(): boolean {
    return this.parts.jobs.watchedCount === 0;
  }

  /** Resolves when every entry was claimed or forgotten. */
  async whenEmpty(): Promise<void> {
    if (!this.isEmpty) await this.#emptied.next;
  }

  /** Forgets everything. */
  close(): void {
    this.shut();
    clearImmediate(this.#turn);
    for (const entry of this.parts.jobs.allWatched()) this.parts.jobs.forget(entry);
    this.#channel.close();
    this.#emptied.notify();
  }

  /** The database's clock has jumped: works out every deadline again. */
  realign(): void {
    for (const { state, handle, wakeMs } of this.parts.jobs.allWatched()) {
      if (state === 'wheel') this.#channel.move(handle, this.parts.clock.toMonotonicMs(wakeMs));
    }
  }

  /**
   * Watches a wake, unless this node holds its claim or may not run its name.
   * @param scanNo number of the scan that found it, if one did
   * @returns false when there is no room: a later load brings it again
   */
  offer(wake: Wake, source: Source, scanNo = 0): boolean {
    const { jobs, nodes } = this.parts;
    const { id, epoch } = wake;
    if (!this.#isOpen || !nodes.mayRun(wake.name, wake.group)) return true;
    if (!Number.isSafeInteger(id) || !Number.isSafeInteger(epoch) || epoch < 0) {
      this.to.unreadable(id);
      return true;
    }
    if (jobs.covers(id, epoch) || jobs.isLeft(wake) || this.#giveBackLost(wake)) return true;
    return this.#arm(wake, source, scanNo);
  }

  /** Offers the next wake of a delay whose attempt has ended here, if it is within the horizon. */
  offerIfNear(wake: Wake): void {
    const inMs = wake.wakeMs - this.parts.clock.nowMs();
    if (inMs <= this.parts.options.horizonMs) this.offer(wake, 'confirmed');
  }

  /** The row of that id is gone. */
  disarm(id: number): void {
    const entry = this.parts.jobs.watched(id);
    if (entry !== undefined && entry.state !== 'claiming') this.forget(entry);
  }

  /** Whether a page of overdue rows would run soon. */
  get hasRoom(): boolean {
    return this.#isOpen && this.ready.size < this.parts.claimBatch * 2;
  }

  /** Whether more overdue rows of that name would run soon; `butNotOf` lists its full groups. */
  roomFor(name: string): { butNotOf: string[] } | undefined {
    if (!this.#isOpen || this.ready.size >= READY_MAX) return undefined;
    return this.ready.roomFor(name, this.parts.claimBatch);
  }

  /** Takes what one claim admits. Each entry stays known until it is forgotten or put back. */
  take(admit: Admit, mayStalled: boolean): Taken {
    return this.ready.take(this.parts.claimBatch, admit, mayStalled);
  }

  /** How often something was taken. */
  get takes(): number {
    return this.ready.takes;
  }

  /** Whether few due entries could run now: the others are throttled. */
  get hasRoomBehind(): boolean {
    return this.ready.size - this.ready.throttled < this.parts.claimBatch;
  }

  /** For a taken entry: its row is claimed. */
  claimed(entry: Job, attempt: Attempt): void {
    this.#confirm(entry);
    this.parts.jobs.claimed(entry, attempt);
    this.#left(entry);
  }

  /** For a taken entry: its row is gone, another node's, or claimed without an attempt. */
  forget(entry: Job): void {
    if (entry.state === 'wheel') this.#channel.cancel(entry.handle);
    this.#confirm(entry);
    this.parts.jobs.forget(entry);
    this.#left(entry);
  }

  /** For taken entries, in their order: they are throttled and stay due. */
  putBack(entries: readonly Job[]): void {
    for (const entry of entries.toReversed()) {
      const isWanted =
        entry.later === undefined && this.parts.nodes.mayRun(entry.name, entry.group);
      if (isWanted) this.ready.putBack(entry);
      else this.forget(entry);
    }
  }

  /**
   * For a taken entry: its row was locked, or not due yet.
   * @param wakeMs what the row says, if it was read
   */
  again(entry: Job, inMs: number, wakeMs?: number): void {
    if (wakeMs !== undefined) {
      entry.wakeMs = wakeMs;
      entry.orphaned = false;
      this.#confirm(entry);
    }
    const handle = this.#channel.add(performance.now() + inMs, entry.id);
    if (handle === undefined) return this.forget(entry);
    entry.handle = handle;
    entry.become('wheel');
    this.#armLater(entry);
  }

  /** Ownership changed: two nodes that watch the same rows would both claim them. */
  leaveToOthers(): void {
    const { nodes } = this.parts;
    const dropped = this.ready.keepOnly(
      ({ id, name, group }) => nodes.owns(id, name, group) && nodes.mayRun(name, group),
    );
    for (const entry of dropped) this.forget(entry);
  }

  #due(entries: readonly Job[]): void {
    for (const entry of entries) {
      const mayRun = this.parts.nodes.mayRun(entry.name, entry.group);
      const leftOut = mayRun ? this.ready.push(entry) : entry;
      if (leftOut !== undefined) this.forget(leftOut);
      if (mayRun && leftOut !== undefined) this.overflows += 1;
    }
    this.to.due();
  }

  /**
   * Gives back the row of a claim that was committed after its answer was given up. While another
   * claim of the row is in flight, that claim's answer says what became of it.
   */
  #giveBackLost({ id, epoch }: Wake): boolean {
    const { jobs } = this.parts;
    if (!jobs.isLost(id, epoch) || jobs.watched(id)?.state === 'claiming') return false;
    jobs.found(id);
    this.to.giveBack(id, epoch);
    return true;
  }

  #arm(wake: Wake, source: Source, scanNo: number): boolean {
    const isHinted = source === 'hinted';
    const known = this.parts.jobs.watched(wake.id);
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

  /** Arms the wake that arrived while the entry was being claimed. */
  #armLater(entry: Job): void {
    const { later } = entry;
    entry.later = undefined;
    if (later !== undefined && later[0].epoch > entry.epoch) this.#arm(...later, 0);
  }

  /** It is no longer watched. */
  #left(entry: Job): void {
    this.#armLater(entry);
    if (this.isEmpty) this.#emptied.notify();
  }

  get #isHintedFull(): boolean {
    return this.#hinted >= this.entriesMax / HINTED_SHARE;
  }

  #add(wake: Wake, hinted: boolean, scanNo: number): boolean {
    const deadlineMs = this.parts.clock.toMonotonicMs(wake.wakeMs);
    if (hinted && this.#isHintedFull) return false;
    const isFull = this.parts.jobs.watchedCount >= this.entriesMax;
    if (isFull && (hinted || !this.#dropFarthest(deadlineMs))) return false;
    const isOverdue = deadlineMs <= performance.now();
    const handle = isOverdue ? 0 : this.#channel.add(deadlineMs, wake.id);
    if (handle === undefined) return false;
    const entry = new Job(wake, isOverdue ? 'due' : 'wheel', hinted, scanNo);
    entry.handle = handle;
    this.parts.jobs.watch(entry);
    if (CHECKED) {
      const { watchedCount } = this.parts.jobs;
      invariant(watchedCount <= this.entriesMax, 'entries', watchedCount);
    }
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
    const entry = id === undefined ? undefined : this.parts.jobs.watched(id);
    if (entry === undefined) return false;
    this.#confirm(entry);
    this.parts.jobs.forget(entry);
    return true;
  }

  /** The wheel goes first: on a busy node it is late, and its wakes are earlier. */
  #handOverOverdue(): void {
    this.#turn = undefined;
    if (this.#channel.turn()) this.#turn ??= setImmediate(this.#onTurn);
    else this.#handOver([], Infinity);
  }

  /** @param untilMs overdue entries up to this wake are handed over with the others */
  #handOver(due: Job[], untilMs: number): void {
    if (this.#overdue.length > 0) {
      const later: Job[] = [];
      for (const entry of this.#overdue) {
        if (entry.state === 'due') (entry.wakeMs <= untilMs ? due : later).push(entry);
      }
      this.#overdue = later;
      due.sort((a, b) => a.wakeMs - b.wakeMs);
    }
    if (due.length > 0) this.#due(due);
  }

  #confirm(entry: Job): void {
    if (entry.hinted) this.#hinted -= 1;
    entry.hinted = false;
    if (CHECKED) invariant(this.#hinted >= 0, 'hinted entries', this.#hinted);
  }

  #expire(ids: readonly number[]): void {
    const due: Job[] = [];
    for (const id of ids) {
      const entry = this.parts.jobs.watched(id);
      if (entry?.state === 'wheel') due.push(entry);
    }
    this.#handOver(due, due.at(-1)?.wakeMs ?? -Infinity);
  }
}

/**
 * Whether a wake supersedes what is known of its row. A row with an older epoch than a hinted entry
 * comes from an old page, or the entry's write was rolled back: looking sooner does no harm.
 */
function isBetter(wake: Wake, isHinted: boolean, known: Job): boolean {
  const isSooner = wake.wakeMs < known.wakeMs;
  // An orphaned entry keeps its time and position, whatever other pages say: the claim looks again.
  if (known.orphaned && wake.epoch === known.epoch) return isSooner;
  if (wake.epoch < known.epoch) return known.hinted && isSooner;
  return isHinted ? isSooner : true;
}
