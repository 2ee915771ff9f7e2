import type { Entry } from './entry.js';
import { Turns } from './turns.js';

/** Of which lane a take has taken. */
export type Taken = 'suspect' | 'healthy' | 'nothing';

/** Answers whether there was a place for the entry, and takes it. */
type Seat = (entry: Entry) => boolean;

/**
 * What is due and not yet claimed. Only what has a free slot is taken out, so that leases and
 * attempts do not age in here. Suspects, whose earlier attempt ended without a word, have a lane of
 * their own: they are taken one by one. The names of a lane take turns, and so do the lanes.
 */
export class ReadyQueue {
  readonly #healthy = new Turns();
  readonly #suspects = new Turns();
  #isSuspectsTurn = true;

  get size(): number {
    return this.#healthy.size + this.#suspects.size;
  }

  /** Healthy entries of that name. */
  sizeOf(name: string): number {
    return this.#healthy.sizeOf(name);
  }

  /** @returns false when the line of its name is full */
  push(entry: Entry): boolean {
    return (entry.suspect ? this.#suspects : this.#healthy).push(entry);
  }

  /**
   * Takes one suspect or up to `limit` others, of that lane that was served longer ago if it has
   * something with a seat.
   *
   * @param maySuspect whether a suspect may run now
   */
  take(limit: number, seat: Seat, maySuspect: boolean): Taken {
    if (this.#isSuspectsTurn && maySuspect && this.#takeSuspect(seat)) return 'suspect';
    if (this.#healthy.take(limit, seat) > 0) {
      this.#isSuspectsTurn = true;
      return 'healthy';
    }
    return !this.#isSuspectsTurn && maySuspect && this.#takeSuspect(seat) ? 'suspect' : 'nothing';
  }

  /** @returns the entries that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    return [...this.#suspects.keepOnly(isWanted), ...this.#healthy.keepOnly(isWanted)];
  }

  #takeSuspect(seat: Seat): boolean {
    if (this.#suspects.take(1, seat) === 0) return false;
    this.#isSuspectsTurn = false;
    return true;
  }
}
