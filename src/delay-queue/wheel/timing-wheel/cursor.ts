const SLOT_BITS = 10;
const SLOTS = 1 << SLOT_BITS;
const LEVEL_3 = 3 * SLOTS;
const BEYOND = 4 * SLOTS;
const HIGH = 2 ** 32;
const REACH = 2 ** 40;

/**
 * Where the wheel stands, and what that says about a tick: in which list it belongs. Lists 0 to
 * 4,095 are the slots, level by level; list 4,096 is for all that lies beyond the reach.
 *
 * A tick has up to 53 bits and bit operations know 32, so it is taken apart into a low and a high
 * word.
 */
export class Cursor {
  /** All ticks before it are done; at the tick itself timers may still be added. */
  tick = 0;
  low = 0;
  high = 0;

  moveTo(tick: number): void {
    this.tick = tick;
    this.low = tick | 0;
    this.high = (tick * (1 / HIGH)) | 0;
  }

  listOf(low: number, high: number): number {
    const differs = low ^ this.low;
    if (high !== this.high || differs >>> 30 !== 0) return this.#farListOf(low, high);
    const level = differs >>> 10 === 0 ? 0 : differs >>> 20 === 0 ? 1 : 2;
    return (level << SLOT_BITS) | ((low >>> (level * SLOT_BITS)) & (SLOTS - 1));
  }

  /** The first tick of a list; `Infinity` when there is no list. */
  startOf(list: number): number {
    if (list < 0) return Infinity;
    if (list >= LEVEL_3) return this.#farStartOf(list);
    const shift = (list >>> SLOT_BITS) * SLOT_BITS;
    const block = this.tick - (this.low & ((SLOTS << shift) - 1));
    return block + ((list & (SLOTS - 1)) << shift);
  }

  /** The high word that all ticks of a slot share. Beyond the reach they do not. */
  highOf(slot: number): number {
    return slot < LEVEL_3 ? this.high : (this.high & ~0xff) | ((slot & (SLOTS - 1)) >>> 2);
  }

  #farListOf(low: number, high: number): number {
    return (high ^ this.high) > 0xff ? BEYOND : LEVEL_3 | ((high & 0xff) << 2) | (low >>> 30);
  }

  #farStartOf(list: number): number {
    const block = Math.floor(this.tick / REACH) * REACH;
    return list === BEYOND ? block + REACH : block + (list & (SLOTS - 1)) * (REACH / SLOTS);
  }
}
