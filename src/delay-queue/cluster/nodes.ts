import { isDeepStrictEqual } from 'node:util';
import type { DelayEvents } from '../api/events.js';
import type { NodeStore } from '../store/node.store.js';
import { groupNumber, spread } from '../store/rows/attempt-rows.js';
import { groupText, type Pause, PAUSED, type Shares } from '../store/rows/delay-rows.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import { Signal } from '../tasks/signal.js';

type Others = readonly (readonly [id: string, names: readonly string[]])[];

interface Rank {
  count: number;
  rank: number;
}

/**
 * The members of the cluster, and the owner of each delay: `spread(id)` picks it among the nodes
 * that serve the name. A stale view costs a little lateness or an empty claim, never correctness.
 */
export class Nodes {
  /** The share of this node has changed. */
  readonly changed = new Signal();
  #shares: Shares;
  #rankOf: ReadonlyMap<string, Rank>;
  #leftOut: ReadonlySet<string> = new Set();

  constructor(
    private readonly self: string,
    private readonly names: readonly string[],
    /** Names for which all delays of a group belong to one node. */
    private readonly ownedByGroup: ReadonlySet<string> = new Set(),
  ) {
    this.#shares = this.#sharesAmong([], []);
    this.#rankOf = ranksOf(this.#shares);
  }

  /** @returns whether the view changed */
  update(others: Others, pauses: readonly Pause[] = []): boolean {
    const shares = this.#sharesAmong(others, pauses);
    if (isDeepStrictEqual(shares, this.#shares)) return false;
    this.#shares = shares;
    this.#rankOf = ranksOf(shares);
    this.#leftOut = new Set(shares.leftOut);
    this.changed.emit();
    return true;
  }

  /**
   * This node's share of each name that it serves, for the statements of the loader and the
   * scanner. The same object until the view changes, so answers for older shares can be recognized.
   */
  get shares(): Shares {
    return this.#shares;
  }

  /** The part of the share for wanted names, without the groups that each one excludes. */
  sharesOf(wanted: (name: string) => { butNotOf: readonly string[] } | undefined): Shares {
    const { names, counts, ranks } = this.#shares;
    const part: Shares = {
      names: [],
      counts: [],
      ranks: [],
      byGroup: [],
      leftOut: [...this.#shares.leftOut],
    };
    for (const [index, name] of names.entries()) {
      const room = wanted(name);
      if (room === undefined) continue;
      part.names.push(name);
      part.counts.push(counts[index] ?? 1);
      part.ranks.push(ranks[index] ?? 0);
      part.byGroup.push(this.ownedByGroup.has(name));
      part.leftOut.push(...room.butNotOf.map((group) => groupText(name, group)));
    }
    return part;
  }

  /** Whether this node has a handler of the name, and neither the name nor the group is paused. */
  mayRun(name: string, group: string | null): boolean {
    const share = this.#rankOf.get(name);
    if (share === undefined || share.rank === PAUSED) return false;
    return this.#leftOut.size === 0 || !this.#leftOut.has(groupText(name, group));
  }

  /** Whether this node serves the name and owns that delay. */
  owns(id: number, name: string, group: string | null = null): boolean {
    const isByGroup = group !== null && this.ownedByGroup.has(name);
    return this.#owns(name, isByGroup ? groupNumber(group) : id);
  }

  /** The same, where only the number of the group is known. */
  ownsHinted(id: number, name: string, number: number | null): boolean {
    return this.#owns(name, number !== null && this.ownedByGroup.has(name) ? number : id);
  }

  #owns(name: string, number: number): boolean {
    const share = this.#rankOf.get(name);
    return share !== undefined && spread(number) % share.count === share.rank;
  }

  /** Whether another node serves the name too. */
  isShared(name: string): boolean {
    return (this.#rankOf.get(name)?.count ?? 1) > 1;
  }

  /** Whether another node serves one of this node's names. */
  get hasPeers(): boolean {
    return this.#shares.counts.some((count) => count > 1);
  }

  #sharesAmong(others: Others, pauses: readonly Pause[]): Shares {
    const shares: Shares = { names: [], counts: [], ranks: [], byGroup: [], leftOut: [] };
    const paused = new Set(pauses.filter(([, group]) => group === '').map(([name]) => name));
    const served = others.map(([id, names]) => [id, new Set(names)] as const);
    for (const name of this.names) {
      const ids = served.filter(([, names]) => names.has(name)).map(([id]) => id);
      shares.names.push(name);
      shares.counts.push(ids.length + 1);
      const rank = ids.filter((id) => id < this.self).length;
      shares.ranks.push(paused.has(name) ? PAUSED : rank);
      shares.byGroup.push(this.ownedByGroup.has(name));
    }
    for (const [name, group] of pauses) {
      if (group !== '' && this.names.includes(name)) shares.leftOut.push(groupText(name, group));
    }
    return shares;
  }
}

const ranksOf = ({ names, counts, ranks }: Shares): ReadonlyMap<string, Rank> =>
  new Map(names.map((name, at) => [name, { count: counts[at] ?? 1, rank: ranks[at] ?? 0 }]));

/** One may be a restart: the old process's last heartbeat came after the new one's first. */
const FOREIGN_BEATS_MIN = 2;

/**
 * Detects that another live process uses this node's name: its heartbeats alternate with this
 * one's. Both would own the same delays, and each would be mistaken for the other.
 */
export class NameWatch {
  #hasBeaten = false;
  #foreignBeats = 0;

  constructor(
    private readonly nodeName: string,
    private readonly instance: string,
    private readonly events: DelayEvents,
  ) {}

  /** @param last the instance of the name's previous heartbeat */
  beat(last: string | null): void {
    // Before this process's first heartbeat, it came from a process that has ended.
    const isForeign = this.#hasBeaten && last !== null && last !== this.instance;
    this.#hasBeaten = true;
    if (!isForeign) return;
    this.#foreignBeats += 1;
    if (this.#foreignBeats !== FOREIGN_BEATS_MIN) return;
    this.events.emit('advice', {
      message:
        `another process is also named ${this.nodeName}; names must be unique per process: ` +
        'omit the option nodeName, or include something unique in it, such as the pod and the pid',
    });
  }
}

/** Most names checked in the life of a process: made-up names beyond that cause no more advice. */
const NAMES_MAX = 1_000;

/**
 * Advises, once per name, that delays of it were written here and no live node serves it: the name
 * is misspelled, or its service was never deployed. Checks once: at the first write of a name that
 * looks like a known one, for others a while later, because in a deployment the node that serves
 * the name may start later. Skips names that this node serves.
 */
export class UnservedNames {
  readonly #own: ReadonlySet<string>;
  readonly #asked = new Set<string>();
  readonly #toAsk: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #asking = Promise.resolve();
  #isOver = false;
  readonly #aliveMs: number;

  /**
   * @param own names that this node serves
   * @param meant the name of a handler of this application that is spelled almost like this one
   */
  constructor(
    private readonly store: Pick<NodeStore, 'unserved'>,
    own: readonly string[],
    private readonly meant: (name: string) => string | undefined,
    { loadEveryMs }: { loadEveryMs: number },
    private readonly events: DelayEvents,
  ) {
    this.#own = new Set(own);
    this.#aliveMs = loadEveryMs * LOADS_MISSED_MAX;
  }

  /** A delay of that name was committed. Mostly the name is known. */
  written(name: string): void {
    if (this.#own.has(name) || this.#asked.has(name)) return;
    if (this.#isOver || this.#asked.size >= NAMES_MAX) return;
    this.#asked.add(name);
    if (this.meant(name) !== undefined) return this.#ask([name]);
    this.#toAsk.push(name);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#ask(this.#toAsk.splice(0));
    }, this.#aliveMs).unref();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#asking;
  }

  #ask(names: readonly string[]): void {
    this.#asking = this.#asking.then(() => this.#advise(names));
  }

  async #advise(names: readonly string[]): Promise<void> {
    if (this.#isOver) return;
    try {
      for (const name of await this.store.unserved(names, this.#aliveMs)) {
        const meant = this.meant(name);
        this.events.emit('advice', {
          message:
            `no live node has a handler of ${name}, and delays of that name were scheduled here: ` +
            `they wait until a node with such a handler starts${meant ? `. Did you mean ${meant}?` : ''}`,
        });
      }
    } catch {
      // Only advice, and database errors are reported elsewhere: the next write checks again.
      for (const name of names) this.#asked.delete(name);
    }
  }
}
