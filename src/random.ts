/** Random numbers that repeat for the same seed, so that races and chaos runs can be replayed. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer, both ends included. */
  integer(min: number, max: number): number;
  /** At least `min`, below `max`. */
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  /** Throws when there are none. */
  pick<Item>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
  /** Another sequence, independent of how many numbers this one has produced. */
  fork(label: string): Random;
}

/** @param seed any text or number */
export function randomOf(seed: string | number): Random {
  // splitmix32, started from an FNV-1a hash of the seed.
  let state = hash(String(seed));
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    between: (min, max) => min + next() * (max - min),
    chance: (probability) => next() < probability,
    pick<Item>(items: readonly Item[]): Item {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[integer(0, items.length - 1)] as Item;
    },
    shuffled: (items) => {
      const shuffled = [...items];
      for (let last = shuffled.length - 1; last > 0; last -= 1) {
        const other = integer(0, last);
        [shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!];
      }
      return shuffled;
    },
    fork: (label) => randomOf(`${seed}/${label}`),
  };
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value | 0;
}
