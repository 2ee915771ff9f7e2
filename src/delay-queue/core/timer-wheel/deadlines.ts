import type { WheelChannel } from './wheel.channel.js';
import { WheelService } from './wheel.service.js';

/** A deadline of {@link Deadlines}. */
export interface Deadline {
  /** Moves the deadline, if it has not passed. */
  move(atMs: number): void;
  off(): void;
}

/** Calls functions at instants of `performance.now()`, unless they are called off. */
export class Deadlines {
  readonly #channel: WheelChannel;
  readonly #whenCome = new Map<number, () => void>();
  #serial = 0;

  /** @param capacity most deadlines set at once */
  constructor(wheel: WheelService, capacity: number) {
    this.#channel = wheel.channel((serials) => {
      for (const serial of serials) this.#comes(serial);
    }, capacity);
  }

  /** @returns undefined when there is no room */
  set(atMs: number, whenCome: () => void): Deadline | undefined {
    const serial = ++this.#serial;
    const timer = this.#channel.add(atMs, serial);
    if (timer === undefined) return undefined;
    this.#whenCome.set(serial, whenCome);
    return {
      move: (laterMs) => void this.#channel.move(timer, laterMs),
      off: () => {
        if (this.#whenCome.delete(serial)) this.#channel.cancel(timer);
      },
    };
  }

  close(): void {
    this.#channel.close();
    this.#whenCome.clear();
  }

  #comes(serial: number): void {
    const whenCome = this.#whenCome.get(serial);
    this.#whenCome.delete(serial);
    whenCome?.();
  }
}
