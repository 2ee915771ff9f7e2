import type { Entry } from './entry.js';
import { type Admit, Line } from './line.js';

/** Due entries of one name kept in memory; what does not fit is found again by a sweep, once there is room. */
const LINE_MAX = 10_000;

/**
 * So many of all names together are a crowd: half of what the read-ahead has room for. From then on a line takes
 * no more than a claim takes at once, so that the crowds of some names leave room for what others schedule.
 */
const CROWD = 100_000;
const LINE_MAX_IN_CROWD = 500;

/**
 * A line for each name that waits, and the names take turns: one that was served goes behind all others,
 * and no other moves. A name that finds no place so keeps its place for the moment when there is one.
 */
export class Turns {
  /** Served least recently first. A line that is empty has no turn. */
  readonly #lines = new Map<string, Line>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many wait for limits of their groups. */
  get held(): number {
    let held = 0;
    for (const line of this.#lines.values()) held += line.held;
    return held;
  }

  sizeOf(name: string): number {
    return this.#lines.get(name)?.length ?? 0;
  }

  /** What waits of that name, if anything does. */
  lineOf(name: string): Line | undefined {
    return this.#lines.get(name);
  }

  /** @returns who is left out when its line is full: no name must take the room of another, nor must a group */
  push(entry: Entry): Entry | undefined {
    let line = this.#lines.get(entry.name);
    if (line === undefined) this.#lines.set(entry.name, (line = new Line()));
    const isFull = line.length >= (this.#size < CROWD ? LINE_MAX : LINE_MAX_IN_CROWD);
    const before = line.length;
    const leftOut = line.offer(entry, isFull);
    this.#size += line.length - before;
    return leftOut;
  }

  /** What was taken and did not begin, although its line may be full meanwhile. */
  putBack(entry: Entry): void {
    let line = this.#lines.get(entry.name);
    if (line === undefined) this.#lines.set(entry.name, (line = new Line()));
    line.putBack(entry);
    this.#size += 1;
  }

  /**
   * Takes up to `limit` entries, one of each name in turn as long as it is admitted.
   * @param admit takes a place for the entry, and answers whether there was one
   * @returns how many it took
   */
  take(limit: number, admit: Admit): number {
    let taken = 0;
    // One that is served moves to the back, where this loop meets it once more.
    for (const [name, line] of this.#lines) {
      if (taken >= limit) break;
      const isServed = this.#serve(line, admit);
      if (isServed || line.length === 0) this.#lines.delete(name);
      if (!isServed) continue;
      if (line.length > 0) this.#lines.set(name, line);
      taken += 1;
    }
    return taken;
  }

  /** @returns the entries that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    const dropped: Entry[] = [];
    this.#size = 0;
    for (const [name, line] of this.#lines) {
      dropped.push(...line.keepOnly(isWanted));
      this.#size += line.length;
      if (line.length === 0) this.#lines.delete(name);
    }
    return dropped;
  }

  #serve(line: Line, admit: Admit): boolean {
    const before = line.length;
    const isServed = line.serve(admit);
    this.#size -= before - line.length;
    return isServed;
  }
}
