import type { DatabaseClock } from '../database/database-clock.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { inOwnScope } from '../tasks/own-scope.js';
import { Condition } from '../tasks/signal.js';
import type { WheelChannel } from '../timer-wheel/wheel.channel.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import type { Entry, Source } from './fair-queue.js';

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
