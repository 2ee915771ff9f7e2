import { AsyncResource } from 'node:async_hooks';
import type { DatabaseClock } from '../database/database-clock.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { Moment } from '../tasks/signal.js';
import type { WheelChannel } from '../timer-wheel/wheel.channel.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import { type Entry, entryOf, isBetter, type Source } from './entry.js';

/** What is not in the wheel has no handle there. */
const NO_HANDLE = 0;

/** Told wakes may take a tenth of the room: any role that can NOTIFY could fill it. */
const TOLD_SHARE = 10;

/**
 * The part of the future this node keeps in memory: a cache of `(id, epoch, name, wake)` that can
 * be thrown away at any moment. One entry per id; of what rows say the newest epoch wins, and what is only
 * told can bring a look forward, never put it off. Who looks too early looks at the row, and knows.
 */
export class ReadAhead {
  readonly #entries = new Map<number, Entry>();
  readonly #channel: WheelChannel;
  /** Overdue when they came. They need no wheel, only a turn in which they are told of together. */
  #overdue: Entry[] = [];
  #turn: NodeJS.Immediate | undefined;
  /** As with a wheel's turns: the first to announce must not lend its AsyncLocalStorage to all. */
  readonly #onTurn = AsyncResource.bind(() => this.#tellOverdue());
  #told = 0;
  readonly emptied = new Moment();

  /** @param onDue gets the entries whose wake has come, in order of their wake */
  constructor(
    wheel: WheelService,
    private readonly clock: DatabaseClock,
    private readonly entriesMax: number,
    private readonly onDue: (entries: Entry[]) => void,
  ) {
    this.#channel = wheel.channel((ids) => this.#expire(ids), entriesMax);
  }

  /**
   * Keeps an eye on a wake.
   * @param walk of the scanner, if that brings it
   * @returns false when there is no room: the loader brings it again later
   */
  arm(wake: Wake, source: Source, walk = 0): boolean {
    const isTold = source === 'told';
    const known = this.#entries.get(wake.id);
    if (known === undefined) return this.#add(wake, isTold, walk);
    // The claim under way will answer what became of the row, as far as it knows.
    if (known.place === 'claiming') {
      if (wake.epoch > known.epoch) known.heard = [wake, source];
      return true;
    }
    if (wake.epoch === known.epoch && wake.wakeMs === known.wakeMs) {
      if (!isTold) this.#isRead(known);
      return true;
    }
    if (!isBetter(wake, isTold, known)) return true;
    if (isTold && !known.told && this.#isToldFull) return false;
    this.forget(known);
    return this.#add(wake, isTold, walk);
  }

  /** A row was looked at, and says this of an entry. */
  correct(entry: Entry, wakeMs: number): void {
    entry.wakeMs = wakeMs;
    entry.orphaned = false;
    this.#isRead(entry);
  }

  /** A claim of it is on its way. */
  isClaiming(id: number): boolean {
    return this.#entries.get(id)?.place === 'claiming';
  }

  /** Looks at an entry again later: it was locked, or its time has not quite come. */
  again(entry: Entry, inMs: number): void {
    const deadlineMs = performance.now() + inMs;
    const handle = this.#channel.add(deadlineMs, entry.id);
    if (handle === undefined) return this.forget(entry);
    entry.handle = handle;
    entry.place = 'wheel';
    this.#listen(entry);
  }

  /** Forgets an id whose row is gone; harmless when it is not known. */
  disarm(id: number): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.place !== 'claiming') this.forget(entry);
  }

  forget(entry: Entry): void {
    if (entry.place === 'wheel') this.#channel.cancel(entry.handle);
    this.#drop(entry);
    this.#listen(entry);
  }

  /** The database's clock is no longer where it was: all deadlines are worked out anew. */
  realign(): void {
    for (const entry of this.#entries.values()) {
      if (entry.place === 'wheel') {
        this.#channel.move(entry.handle, this.clock.toMonotonicMs(entry.wakeMs));
      }
    }
  }

  close(): void {
    clearImmediate(this.#turn);
    this.#entries.clear();
    this.#channel.close();
    this.emptied.happens();
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  #listen(entry: Entry): void {
    const { heard } = entry;
    entry.heard = undefined;
    if (heard !== undefined) this.arm(...heard);
  }

  get #isToldFull(): boolean {
    return this.#told >= this.entriesMax / TOLD_SHARE;
  }

  #add(wake: Wake, told: boolean, walk: number): boolean {
    const deadlineMs = this.clock.toMonotonicMs(wake.wakeMs);
    if (told && this.#isToldFull) return false;
    if (this.#entries.size >= this.entriesMax && (told || !this.#dropFarthest(deadlineMs))) {
      return false;
    }
    const isOverdue = deadlineMs <= performance.now();
    const handle = isOverdue ? NO_HANDLE : this.#channel.add(deadlineMs, wake.id);
    if (handle === undefined) return false;
    const entry = entryOf(wake, isOverdue ? 'due' : 'wheel', handle, told, walk);
    this.#entries.set(wake.id, entry);
    if (told) this.#told += 1;
    if (isOverdue) {
      this.#overdue.push(entry);
      this.#turn ??= setImmediate(this.#onTurn);
    }
    return true;
  }

  /** The near matters more than the far, which a later load brings again. */
  #dropFarthest(afterMs: number): boolean {
    const id = this.#channel.evictFarthest(afterMs);
    const entry = id === undefined ? undefined : this.#entries.get(id);
    if (entry === undefined) return false;
    this.#drop(entry);
    return true;
  }

  /** Not before what is due in the wheel, which came earlier and may have an earlier wake: on a busy node it is late itself. */
  #tellOverdue(): void {
    this.#turn = undefined;
    if (this.#channel.turn()) this.#turn ??= setImmediate(this.#onTurn);
    else this.#tell([], Infinity);
  }

  /** @param untilMs what was overdue when it came is told of with the others up to this wake */
  #tell(due: Entry[], untilMs: number): void {
    if (this.#overdue.length > 0) {
      const later: Entry[] = [];
      for (const entry of this.#overdue) {
        if (entry.place === 'due') (entry.wakeMs <= untilMs ? due : later).push(entry);
      }
      this.#overdue = later;
      due.sort((a, b) => a.wakeMs - b.wakeMs);
    }
    if (due.length > 0) this.onDue(due);
  }

  #drop(entry: Entry): void {
    entry.place = 'gone';
    if (this.#entries.get(entry.id) !== entry) return;
    this.#entries.delete(entry.id);
    this.#isRead(entry);
    if (this.isEmpty) this.emptied.happens();
  }

  #isRead(entry: Entry): void {
    if (entry.told) this.#told -= 1;
    entry.told = false;
  }

  #expire(ids: readonly number[]): void {
    const due: Entry[] = [];
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry?.place === 'wheel') due.push(entry);
    }
    this.#tell(due, due.at(-1)?.wakeMs ?? -Infinity);
  }
}
