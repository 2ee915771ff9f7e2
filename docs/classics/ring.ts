import type { OpenDesign } from './design.js';

/** Stands for the second of the usual ring: 60 slots are 6 s here. */
const TICK_MS = 100;
const SLOTS = 60;
/** Often, so that no order waits for a whole tick. */
const LOOK_EVERY_MS = 20;

/**
 * A ring of slots. What lies further ahead than one lap waits in its slot with a count of laps:
 *
 *     slot   = (ticks since the start + delay) mod slots
 *     laps   = delay div (slots × tick), one less with each visit; fires at 0
 *
 * - It looks more than once within a tick, and each look is a visit: the laps are burnt.
 * - A delay is cut to whole ticks twice: up to one tick early.
 * - A slot that was not looked at, because the process stood still, has to wait for its next lap.
 */
export class Ring {
  readonly #slots: Map<string, number>[];

  constructor(
    slots: number,
    private readonly tickMs: number,
    private readonly startedAtMs: number,
  ) {
    this.#slots = Array.from({ length: slots }, () => new Map());
  }

  get size(): number {
    return this.#slots.reduce((sum, { size }) => sum + size, 0);
  }

  add(orderId: string, delayMs: number, nowMs: number): void {
    const laps = Math.floor(delayMs / (this.tickMs * this.#slots.length));
    this.#slotAt(nowMs + delayMs).set(orderId, laps);
  }

  remove(orderId: string): void {
    for (const slot of this.#slots) slot.delete(orderId);
  }

  /** The orders whose time has come. */
  look(nowMs: number): string[] {
    const slot = this.#slotAt(nowMs);
    const due: string[] = [];
    for (const [orderId, laps] of slot) {
      if (laps > 0) slot.set(orderId, laps - 1);
      else due.push(orderId);
    }
    for (const orderId of due) slot.delete(orderId);
    return due;
  }

  #slotAt(ms: number): Map<string, number> {
    const tick = Math.floor((ms - this.startedAtMs) / this.tickMs);
    return this.#slots[tick % this.#slots.length]!;
  }
}

export const openRing: OpenDesign = async (shop) => {
  const ring = new Ring(SLOTS, TICK_MS, performance.now());
  setInterval(() => {
    for (const orderId of ring.look(performance.now())) void shop.close(orderId);
  }, LOOK_EVERY_MS);
  return {
    schedule: async (orderId, afterMs) => ring.add(orderId, afterMs, performance.now()),
    async cancel(orderId) {
      ring.remove(orderId);
      return !shop.closing(orderId);
    },
    left: async () => ring.size,
  };
};
