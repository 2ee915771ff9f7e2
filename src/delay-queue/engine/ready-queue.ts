import type { Entry } from './read-ahead.js';

/** Slots left behind in front of a line before it is cut: rare enough to cost nothing per entry. */
const COMPACT_AT = 4_096;

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

  push(entry: Entry): void {
    entry.place = 'ready';
    if (entry.suspect) {
      this.#suspects.push(entry);
      return;
    }
    let line = this.#lines.get(entry.name);
    if (line === undefined) this.#lines.set(entry.name, (line = new Line()));
    line.push(entry);
  }

  /**
   * Takes up to `limit` entries, an even share for each name first, then whoever has more.
   * @param reserve takes a slot of that name and answers whether there was one
   */
  take(limit: number, reserve: (name: string) => boolean): Entry[] {
    const taken: Entry[] = [];
    const names = [...this.#lines.keys()];
    if (names.length === 0) return taken;
    this.#turn = (this.#turn + 1) % names.length;
    const inTurn = [...names.slice(this.#turn), ...names.slice(0, this.#turn)];
    const share = Math.ceil(limit / names.length);
    for (const most of [share, limit]) {
      for (const name of inTurn) {
        this.#takeFrom(name, Math.min(most, limit - taken.length), reserve, taken);
      }
    }
    return taken;
  }

  /** The next row whose earlier attempt ended without a word, if its name has a slot. */
  takeSuspect(reserve: (name: string) => boolean): Entry | undefined {
    const entry = this.#suspects.peek();
    if (entry === undefined) return undefined;
    this.#suspects.shift();
    if (reserve(entry.name)) return entry;
    // Another name's may have a slot: this one goes to the end of the line.
    this.#suspects.push(entry);
    return undefined;
  }

  #takeFrom(name: string, most: number, reserve: (name: string) => boolean, taken: Entry[]): void {
    const line = this.#lines.get(name);
    for (let count = 0; count < most; count += 1) {
      const entry = line?.peek();
      if (line === undefined || entry === undefined || !reserve(name)) return;
      line.shift();
      taken.push(entry);
    }
  }
}
