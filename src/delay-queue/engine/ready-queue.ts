import type { Entry } from './read-ahead.js';

/** Slots left behind in front of a line before it is cut: rare enough to cost nothing per entry. */
const COMPACT_AT = 4_096;

/** Due entries of one name kept in memory; what does not fit is found again by a sweep, once there is room. */
const LINE_MAX = 10_000;

/** First in, first out, without moving the rest on every take. */
class Line {
  #entries: Entry[] = [];
  #head = 0;

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** The next entry that is still ready; those that were forgotten meanwhile fall out. */
  peek(): Entry | undefined {
    while (this.#head < this.#entries.length) {
      const entry = this.#entries[this.#head];
      if (entry?.place === 'ready') return entry;
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

  /** @returns those that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    const waiting = this.#entries.slice(this.#head).filter(({ place }) => place === 'ready');
    this.#entries = waiting.filter(isWanted);
    this.#head = 0;
    return waiting.filter((entry) => !isWanted(entry));
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }
}

/**
 * What is due and not yet claimed, a line per name. Only what has a free slot is taken out, so that
 * leases and attempts do not age in here, and the names take turns.
 */
export class ReadyQueue {
  readonly #lines = new Map<string, Line>();
  readonly #suspects = new Line();
  #turn = 0;

  get size(): number {
    let size = this.#suspects.length;
    for (const line of this.#lines.values()) size += line.length;
    return size;
  }

  /** Healthy entries of that name. */
  sizeOf(name: string): number {
    return this.#lines.get(name)?.length ?? 0;
  }

  /** @returns false when the line is full: one name must not take the room of another */
  push(entry: Entry): boolean {
    const line = entry.suspect ? this.#suspects : this.#lineOf(entry.name);
    if (line.length >= LINE_MAX) return false;
    entry.place = 'ready';
    line.push(entry);
    return true;
  }

  /**
   * Takes up to `limit` entries, an even share for each name first, then whoever has more.
   * @param seat takes a place for the entry, and answers whether there was one
   * @returns how many it took
   */
  take(limit: number, seat: (entry: Entry) => boolean): number {
    const names = [...this.#lines.keys()];
    if (names.length === 0) return 0;
    let taken = 0;
    this.#turn = (this.#turn + 1) % names.length;
    const inTurn = [...names.slice(this.#turn), ...names.slice(0, this.#turn)];
    const share = Math.ceil(limit / names.length);
    for (const most of [share, limit]) {
      for (const name of inTurn) {
        taken += this.#takeFrom(name, Math.min(most, limit - taken), seat);
      }
    }
    return taken;
  }

  /** Takes the next row whose earlier attempt ended without a word, if its name has a slot. */
  takeSuspect(seat: (entry: Entry) => boolean): boolean {
    const entry = this.#suspects.peek();
    if (entry === undefined) return false;
    this.#suspects.shift();
    if (seat(entry)) return true;
    // Another name's may have a slot: this one goes to the end of the line.
    this.#suspects.push(entry);
    return false;
  }

  /** @returns the entries that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    return [this.#suspects, ...this.#lines.values()].flatMap((line) => line.keepOnly(isWanted));
  }

  #lineOf(name: string): Line {
    let line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, (line = new Line()));
    return line;
  }

  #takeFrom(name: string, most: number, seat: (entry: Entry) => boolean): number {
    const line = this.#lines.get(name);
    for (let count = 0; count < most; count += 1) {
      const entry = line?.peek();
      if (line === undefined || entry === undefined || !seat(entry)) return count;
      line.shift();
    }
    return Math.max(most, 0);
  }
}
