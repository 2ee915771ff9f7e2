import type { Wake } from '../store/rows.js';
import type { DatabaseClock } from '../wheel/database-clock.js';
import type { WheelChannel } from '../wheel/wheel.channel.js';
import type { WheelService } from '../wheel/wheel.service.js';

/** A wake this node keeps an eye on: waiting in the wheel, due and ready, or being claimed. */
export interface Entry extends Wake {
  place: 'wheel' | 'ready' | 'claiming' | 'gone';
  handle: number;
  /** Claims in a row that found it locked or early. */
  misses: number;
}

/**
 * The part of the future this node keeps in memory: a cache of `(id, epoch, name, wake)` that can
 * be thrown away at any moment. One entry per id; the newest epoch wins.
 */
export class ReadAhead {
  readonly #entries = new Map<number, Entry>();
  readonly #channel: WheelChannel;

  /** @param onDue gets the entries whose wake has come, in order of their wake */
  constructor(
    wheel: WheelService,
    private readonly clock: DatabaseClock,
    private readonly entriesMax: number,
    private readonly onDue: (entries: Entry[]) => void,
  ) {
    this.#channel = wheel.channel((ids) => this.#expire(ids));
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Keeps an eye on a wake; knows better than an older epoch, and than being told twice.
   * @returns false when there is no room: the loader brings it again later
   */
  arm(wake: Wake): boolean {
    const known = this.#entries.get(wake.id);
    if (known === undefined) return this.#add(wake);
    if (wake.epoch < known.epoch) return true;
    // The claim under way will answer what became of the row.
    if (known.place === 'claiming') return true;
    if (wake.epoch === known.epoch && wake.wakeMs === known.wakeMs) return true;
    this.forget(known);
    return this.#add(wake);
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
  }

  /** Forgets an id whose row is gone; harmless when it is not known. */
  disarm(id: number): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.place !== 'claiming') this.forget(entry);
  }

  forget(entry: Entry): void {
    if (entry.place === 'wheel') this.#channel.cancel(entry.handle);
    entry.place = 'gone';
    if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
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
    this.#entries.clear();
    this.#channel.close();
  }

  #add({ id, epoch, name, wakeMs, suspect, failed }: Wake): boolean {
    const deadlineMs = this.clock.toMonotonicMs(wakeMs);
    if (this.#entries.size >= this.entriesMax && !this.#dropFarthest(deadlineMs)) return false;
    const handle = this.#channel.add(deadlineMs, id);
    if (handle === undefined) return false;
    // Written out: a copy by spreading costs as much as the rest of this.
    const entry: Entry = {
      id,
      epoch,
      name,
      wakeMs,
      suspect,
      failed,
      place: 'wheel',
      handle,
      misses: 0,
    };
    this.#entries.set(id, entry);
    return true;
  }

  /** The near matters more than the far, which a later load brings again. */
  #dropFarthest(afterMs: number): boolean {
    const id = this.#channel.evictFarthest(afterMs);
    const entry = id === undefined ? undefined : this.#entries.get(id);
    if (entry === undefined) return false;
    entry.place = 'gone';
    this.#entries.delete(entry.id);
    return true;
  }

  #expire(ids: readonly number[]): void {
    const due: Entry[] = [];
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry?.place === 'wheel') due.push(entry);
    }
    if (due.length > 0) this.onDue(due);
  }
}
