import { setTimeout as pause } from 'node:timers/promises';
import type { OpenDesign } from './design.js';

/** Stands for the second. */
const TICK_MS = 100;
const SLOTS = 60;

/**
 * A second hand and a minute hand. What is due within the minute lies in the wheel of seconds; all else
 * lies in the wheel of minutes and falls down when the minute hand comes to it.
 *
 * - Sixty-one minutes are in the slot of one minute: it wraps.
 * - The tick awaits one handler after the other, so one that takes long stops the clock for all.
 */
export class TwoWheels {
  readonly #seconds = wheel();
  readonly #minutes = wheel();
  #second = 0;
  #minute = 0;

  get size(): number {
    return [...this.#seconds, ...this.#minutes].reduce((sum, { size }) => sum + size, 0);
  }

  /** @param ticks seconds from now, 1 or more */
  add(orderId: string, ticks: number): void {
    const at = this.#second + ticks;
    const minutes = Math.floor(at / SLOTS);
    if (minutes === 0) this.#seconds[at]!.set(orderId, 0);
    else this.#minutes[(this.#minute + minutes) % SLOTS]!.set(orderId, at % SLOTS);
  }

  remove(orderId: string): void {
    for (const slot of [...this.#seconds, ...this.#minutes]) slot.delete(orderId);
  }

  /** A second passes. @returns the orders whose time has come */
  tick(): string[] {
    this.#second = (this.#second + 1) % SLOTS;
    if (this.#second === 0) {
      this.#minute = (this.#minute + 1) % SLOTS;
      const fallen = this.#minutes[this.#minute]!;
      for (const [orderId, second] of fallen) this.#seconds[second]!.set(orderId, 0);
      fallen.clear();
    }
    const slot = this.#seconds[this.#second]!;
    const due = [...slot.keys()];
    slot.clear();
    return due;
  }
}

/** Orders and the second within their minute. */
const wheel = (): Map<string, number>[] => Array.from({ length: SLOTS }, () => new Map());

export const openTwoWheels: OpenDesign = async (shop) => {
  const wheels = new TwoWheels();
  let due: string[] = [];
  const loop = async (): Promise<void> => {
    for (;;) {
      await pause(TICK_MS);
      due = wheels.tick();
      for (const orderId of due) await shop.close(orderId);
      due = [];
    }
  };
  void loop();
  return {
    schedule: async (orderId, afterMs) => wheels.add(orderId, Math.ceil(afterMs / TICK_MS)),
    async cancel(orderId) {
      wheels.remove(orderId);
      return !shop.closing(orderId);
    },
    left: async () => wheels.size + due.length,
  };
};
