/** Numbers that the same seed gives again. */
export interface Random {
  /** A whole number, both ends included. */
  integer(min: number, max: number): number;
  /** At least `min`, below `max`. */
  between(min: number, max: number): number;
  shuffled<Item>(items: readonly Item[]): Item[];
}

export function randomOf(seed: number): Random {
  // splitmix32
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    integer,
    between: (min, max) => min + next() * (max - min),
    shuffled: (items) => {
      const shuffled = [...items];
      for (let last = shuffled.length - 1; last > 0; last -= 1) {
        const other = integer(0, last);
        [shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!];
      }
      return shuffled;
    },
  };
}
