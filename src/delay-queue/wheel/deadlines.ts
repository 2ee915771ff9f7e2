import type { WheelChannel } from './wheel.channel.js';
import type { WheelService } from './wheel.service.js';

/** One of {@link Alarms}. */
export interface Alarm {
  /** Rings then instead, if it has not rung. */
  move(atMs: number): void;
  off(): void;
}

/** Things to be done at an instant of `performance.now()`, unless they are called off. */
export class Alarms {
  readonly #channel: WheelChannel;
  readonly #rings = new Map<number, () => void>();
  #serial = 0;

  /** @param capacity as many as may ever be set at a time */
  constructor(wheel: WheelService, capacity: number) {
    this.#channel = wheel.channel((serials) => {
      for (const serial of serials) this.#ring(serial);
    }, capacity);
  }

  /** @returns undefined when there is no room for it */
  set(atMs: number, ring: () => void): Alarm | undefined {
    const serial = ++this.#serial;
    const timer = this.#channel.add(atMs, serial);
    if (timer === undefined) return undefined;
    this.#rings.set(serial, ring);
    return {
      move: (laterMs) => void this.#channel.move(timer, laterMs),
      off: () => {
        if (this.#rings.delete(serial)) this.#channel.cancel(timer);
      },
    };
  }

  close(): void {
    this.#channel.close();
    this.#rings.clear();
  }

  #ring(serial: number): void {
    const ring = this.#rings.get(serial);
    this.#rings.delete(serial);
    ring?.();
  }
}
