import { spread } from '../store/spread.js';
import type { Shares } from '../store/rows.js';

/**
 * Who else is there, and who looks after which delays: among the nodes that serve a name,
 * `spread(id)` picks the owner. A stale view costs a little lateness or an empty claim, never
 * correctness.
 */
export class Nodes {
  #shares: Shares;
  #rankOf = new Map<string, { count: number; rank: number }>();

  constructor(
    private readonly self: string,
    private readonly names: readonly string[],
  ) {
    this.#shares = this.#assign([]);
  }

  /** @returns whether the view changed */
  update(others: readonly (readonly [id: string, names: readonly string[]])[]): boolean {
    const before = JSON.stringify(this.#shares);
    this.#shares = this.#assign(others);
    return JSON.stringify(this.#shares) !== before;
  }

  /** This node's part of each name it serves, for the loader's statements. */
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

  /** Whether this node serves the name and is the one to look after that id. */
  owns(id: number, name: string): boolean {
    const share = this.#rankOf.get(name);
    return share !== undefined && spread(id) % share.count === share.rank;
  }

  /** Whether another node serves one of this node's names. */
  get hasPeers(): boolean {
    return this.#shares.counts.some((count) => count > 1);
  }

  #assign(others: readonly (readonly [id: string, names: readonly string[]])[]): Shares {
    const shares: Shares = { names: [], counts: [], ranks: [] };
    this.#rankOf = new Map();
    for (const name of this.names) {
      const ids = others.filter(([, names]) => names.includes(name)).map(([id]) => id);
      const rank = ids.filter((id) => id < this.self).length;
      const count = ids.length + 1;
      this.#rankOf.set(name, { count, rank });
      shares.names.push(name);
      shares.counts.push(count);
      shares.ranks.push(rank);
    }
    return shares;
  }
}
