const LEVELS = 5;
const LEVEL_BITS = 10;
const WORDS_PER_LEVEL = 32;
const FIRST_BIT = 0x80000000;

/** What {@link Occupancy} answers when every list is empty. */
export const NO_LIST = -1;

/**
 * Which lists hold timers: 32 words and a summary word per level, the first slot in the highest bit,
 * so that two `clz32` find it. The list beyond the reach counts as a fifth level's only slot.
 */
export class Occupancy {
  readonly #words = new Int32Array(LEVELS * WORDS_PER_LEVEL);
  readonly #summaries = new Int32Array(LEVELS);

  mark(list: number): void {
    const word = list >>> 5;
    this.#words[word]! |= FIRST_BIT >>> (list & 31);
    this.#summaries[list >>> LEVEL_BITS]! |= FIRST_BIT >>> (word & 31);
  }

  /** Without effect on a list that is not marked. */
  clear(list: number): void {
    const word = list >>> 5;
    const left = this.#words[word]! & ~(FIRST_BIT >>> (list & 31));
    this.#words[word] = left;
    if (left === 0) this.#summaries[list >>> LEVEL_BITS]! &= ~(FIRST_BIT >>> (word & 31));
  }

  /** The earliest list: all of a level is earlier than all of the next. */
  first(): number {
    for (let level = 0; level < LEVELS; level++) {
      const summary = this.#summaries[level]!;
      if (summary === 0) continue;
      const word = (level << 5) | Math.clz32(summary);
      return (word << 5) | Math.clz32(this.#words[word]!);
    }
    return NO_LIST;
  }

  /** The latest list of the levels from `levelMin` up. */
  last(levelMin: number): number {
    for (let word = this.#words.length - 1; word >= levelMin * WORDS_PER_LEVEL; word--) {
      const bits = this.#words[word]!;
      if (bits !== 0) return (word << 5) | Math.clz32(bits & -bits);
    }
    return NO_LIST;
  }
}
