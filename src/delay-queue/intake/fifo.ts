import type { Entry } from './entry.js';

/** Entries left behind in front of a line before it is cut: rare enough to cost nothing per entry. */
const COMPACT_AT = 4_096;

/** First in, first out, without moving the rest on every take. */
export class Fifo {
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

  /** In front of all others. */
  unshift(entry: Entry): void {
    if (this.#head === 0) this.#entries.unshift(entry);
    else this.#entries[--this.#head] = entry;
  }

  /** Takes the newest back out. */
  pop(): Entry | undefined {
    while (this.length > 0) {
      const entry = this.#entries.pop();
      if (entry?.place === 'ready') return entry;
    }
    return undefined;
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
