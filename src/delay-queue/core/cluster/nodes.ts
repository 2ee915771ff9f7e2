import { isDeepStrictEqual } from 'node:util';
import { groupNumber, spread } from '../store/rows/attempt-rows.js';
import { groupText, type PauseTuple, PAUSED, type Shares } from '../store/rows/delay-rows.js';
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
  /**
   * This node's share of each name that it serves, for the statements of the loader and the
   * scanner. The same object until the view changes, so answers for older shares can be recognized.
   */
  shares: Shares;
  #rankOf: ReadonlyMap<string, Rank>;
  #leftOut: ReadonlySet<string> = new Set();

  constructor(
    private readonly self: string,
    private readonly names: readonly string[],
    /** Names for which all delays of a group belong to one node. */
    private readonly ownedByGroup: ReadonlySet<string> = new Set(),
  ) {
    this.shares = this.#sharesAmong([], []);
    this.#rankOf = ranksByName(this.shares);
  }

  /** @returns whether the view changed */
  update(others: Others, pauses: readonly PauseTuple[] = []): boolean {
    const shares = this.#sharesAmong(others, pauses);
    if (isDeepStrictEqual(shares, this.shares)) return false;
    this.shares = shares;
    this.#rankOf = ranksByName(shares);
    this.#leftOut = new Set(shares.leftOut);
    this.changed.emit();
    return true;
  }

  /** The part of the share for wanted names, without the groups that each one excludes. */
  sharesOf(wanted: (name: string) => { butNotOf: readonly string[] } | undefined): Shares {
    const { names, counts, ranks } = this.shares;
    const part: Shares = {
      names: [],
      counts: [],
      ranks: [],
      byGroup: [],
      leftOut: [...this.shares.leftOut],
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
    return this.shares.counts.some((count) => count > 1);
  }

  #sharesAmong(others: Others, pauses: readonly PauseTuple[]): Shares {
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

const ranksByName = ({ names, counts, ranks }: Shares): ReadonlyMap<string, Rank> =>
  new Map(names.map((name, at) => [name, { count: counts[at] ?? 1, rank: ranks[at] ?? 0 }]));
