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
    this.#rankOf = this.#ranksAmong([], new Set());
    this.shares = this.#toShares(this.#rankOf, []);
  }

  /** @returns whether the view changed */
  update(others: Others, pauses: readonly PauseTuple[] = []): boolean {
    const paused = new Set(pauses.filter(([, group]) => group === '').map(([name]) => name));
    const groups = pauses.filter(([name, group]) => group !== '' && this.names.includes(name));
    const leftOut = groups.map(([name, group]) => groupText(name, group));
    const ranks = this.#ranksAmong(others, paused);
    const shares = this.#toShares(ranks, leftOut);
    if (isDeepStrictEqual(shares, this.shares)) return false;
    this.shares = shares;
    this.#rankOf = ranks;
    this.#leftOut = new Set(leftOut);
    this.changed.emit();
    return true;
  }

  /** The part of the share for wanted names, without the groups that each one excludes. */
  sharesOf(wanted: (name: string) => { butNotOf: readonly string[] } | undefined): Shares {
    const leftOut = [...this.shares.leftOut];
    const ranks = new Map<string, Rank>();
    for (const [name, rank] of this.#rankOf) {
      const room = wanted(name);
      if (room === undefined) continue;
      ranks.set(name, rank);
      leftOut.push(...room.butNotOf.map((group) => groupText(name, group)));
    }
    return this.#toShares(ranks, leftOut);
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

  #ranksAmong(others: Others, paused: ReadonlySet<string>): Map<string, Rank> {
    const served = others.map(([id, names]) => [id, new Set(names)] as const);
    const ranks = this.names.map((name): [string, Rank] => {
      const ids = served.filter(([, names]) => names.has(name)).map(([id]) => id);
      const rank = paused.has(name) ? PAUSED : ids.filter((id) => id < this.self).length;
      return [name, { count: ids.length + 1, rank }];
    });
    return new Map(ranks);
  }

  #toShares(ranks: ReadonlyMap<string, Rank>, leftOut: string[]): Shares {
    const [names, all] = [[...ranks.keys()], [...ranks.values()]];
    return {
      names,
      counts: all.map(({ count }) => count),
      ranks: all.map(({ rank }) => rank),
      byGroup: names.map((name) => this.ownedByGroup.has(name)),
      leftOut,
    };
  }
}
