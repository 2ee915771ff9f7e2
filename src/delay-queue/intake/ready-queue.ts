import type { Entry } from './entry.js';
import type { Admit } from './line.js';
import { Turns } from './turns.js';

/** Of which lane a take has taken. */
export type Taken = 'stalled' | 'healthy' | 'nothing';

/**
 * What is due and not yet claimed. Only what has a free place is taken out, or what will
 * have one within a moment, so that leases and attempts do not age in here. Stalled delays, whose earlier attempt ended without a word, have a lane of
 * their own: they are taken one by one. The names of a lane take turns, so do the groups of a name, and the lanes.
 */
export class ReadyQueue {
  readonly #healthy = new Turns();
  readonly #stalled = new Turns();
  #isStalledTurn = true;
  #takes = 0;

  get size(): number {
    return this.#healthy.size + this.#stalled.size;
  }

  /** Entries that wait for limits of their groups, as far as has been asked. */
  get held(): number {
    return this.#healthy.held + this.#stalled.held;
  }

  /** Healthy entries of that name. */
  sizeOf(name: string): number {
    return this.#healthy.sizeOf(name);
  }

  hasStalled(name: string): boolean {
    return this.#stalled.sizeOf(name) > 0;
  }

  /** Whether there is room for more of that name, if so many are enough, but not of some of its groups. */
  roomFor(name: string, enough: number): { butNotOf: string[] } | undefined {
    const line = this.#healthy.lineOf(name);
    if (line === undefined || line.length < enough) return { butNotOf: [] };
    return line.hasGroups ? { butNotOf: line.crowded(enough) } : undefined;
  }

  /** A limit of that group is over: what was set aside has its turn again. */
  release(name: string, group: string): void {
    for (const lane of [this.#healthy, this.#stalled]) lane.lineOf(name)?.release(group);
  }

  /** @returns who is left out when the line of its name is full */
  push(entry: Entry): Entry | undefined {
    return (entry.stalled ? this.#stalled : this.#healthy).push(entry);
  }

  /** What was taken and did not begin waits in front of its like. */
  putBack(entry: Entry): void {
    (entry.stalled ? this.#stalled : this.#healthy).putBack(entry);
  }

  /**
   * Takes one stalled delay, or up to `limit` others: of the lane that was served longer ago, if it has
   * something that is admitted.
   *
   * @param mayStalled whether a stalled delay may run now
   */
  take(limit: number, admit: Admit, mayStalled: boolean): Taken {
    const taken = this.#take(limit, admit, mayStalled);
    if (taken !== 'nothing') this.#takes += 1;
    return taken;
  }

  /** How often something was taken. */
  get takes(): number {
    return this.#takes;
  }

  #take(limit: number, admit: Admit, mayStalled: boolean): Taken {
    if (this.#isStalledTurn && mayStalled && this.#takeStalled(admit)) return 'stalled';
    if (this.#healthy.take(limit, admit) > 0) {
      this.#isStalledTurn = true;
      return 'healthy';
    }
    return !this.#isStalledTurn && mayStalled && this.#takeStalled(admit) ? 'stalled' : 'nothing';
  }

  /** @returns the entries that it drops */
  keepOnly(isWanted: (entry: Entry) => boolean): Entry[] {
    return [...this.#stalled.keepOnly(isWanted), ...this.#healthy.keepOnly(isWanted)];
  }

  #takeStalled(admit: Admit): boolean {
    if (this.#stalled.take(1, admit) === 0) return false;
    this.#isStalledTurn = false;
    return true;
  }
}
