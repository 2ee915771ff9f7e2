import { isDeepStrictEqual } from 'node:util';
import { spread } from '../store/wire/ownership.js';
import type { Shares } from '../store/wire/wakes.js';
import { Signal } from '../tasks/signal.js';

type Others = readonly (readonly [id: string, names: readonly string[]])[];

interface Rank {
  count: number;
  rank: number;
}

/**
 * Who else is there, and who looks after which delays: among the nodes that serve a name,
 * `spread(id)` picks the owner. A stale view costs a little lateness or an empty claim, never
 * correctness.
 */
export class Nodes {
  /** This node looks after other rows than before. */
  readonly changed = new Signal();
  #shares: Shares;
  #rankOf: ReadonlyMap<string, Rank>;

  constructor(
    private readonly self: string,
    private readonly names: readonly string[],
  ) {
    this.#shares = this.#sharesAmong([]);
    this.#rankOf = ranksOf(this.#shares);
  }

  /** @returns whether the view changed */
  update(others: Others): boolean {
    const shares = this.#sharesAmong(others);
    if (isDeepStrictEqual(shares, this.#shares)) return false;
    this.#shares = shares;
    this.#rankOf = ranksOf(shares);
    this.changed.tell();
    return true;
  }

  /**
   * This node's part of each name it serves, for the loader's and the sweeper's statements: the same
   * object until the view changes, so that an answer can be told from one to older shares.
   */
  get shares(): Shares {
    return this.#shares;
  }

  /** The part of it that belongs to names which `isWanted`. */
  sharesOf(isWanted: (name: string) => boolean): Shares {
    const { names, counts, ranks } = this.#shares;
    const wanted = (_: unknown, index: number): boolean => isWanted(names[index] ?? '');
    return {
      names: names.filter(wanted),
      counts: counts.filter(wanted),
      ranks: ranks.filter(wanted),
    };
  }

  /** Whether this node has a handler of that name. */
  serves(name: string): boolean {
    return this.#rankOf.has(name);
  }

  /** Whether this node serves the name and is the one to look after that id. */
  owns(id: number, name: string): boolean {
    const share = this.#rankOf.get(name);
    return share !== undefined && spread(id) % share.count === share.rank;
  }

  /** Whether another node serves one of this node's names. */
  get hasPeers(): boolean {
    return this.#shares.counts.some((count) => count > 1);
  }

  #sharesAmong(others: Others): Shares {
    const shares: Shares = { names: [], counts: [], ranks: [] };
    const served = others.map(([id, names]) => [id, new Set(names)] as const);
    for (const name of this.names) {
      const ids = served.filter(([, names]) => names.has(name)).map(([id]) => id);
      shares.names.push(name);
      shares.counts.push(ids.length + 1);
      shares.ranks.push(ids.filter((id) => id < this.self).length);
    }
    return shares;
  }
}

const ranksOf = ({ names, counts, ranks }: Shares): ReadonlyMap<string, Rank> =>
  new Map(names.map((name, at) => [name, { count: counts[at] ?? 1, rank: ranks[at] ?? 0 }]));
