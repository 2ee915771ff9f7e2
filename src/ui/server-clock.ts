import { signal } from '@preact/signals';

/** Among this many readings, one came through quickly. */
const READINGS_MAX = 40;

/** More than any delivery takes: the computer slept, or the server's clock was set. */
const JUMP_MS = 5_000;

const TICK_MS = 100;

/**
 * Estimate of the server's clock. The visitor's clock is never used, since it may be hours off:
 * only elapsed time is measured here. A reading is late by its delivery, so the greatest difference
 * is the most accurate.
 */
export class ServerClock {
  #readings: number[] = [];
  #offsetMs = 0;

  constructor(private readonly passedMs: () => number = () => performance.now()) {}

  read(serverNow: string): void {
    const reading = Date.parse(serverNow) - this.passedMs();
    if (Math.abs(reading - this.#offsetMs) > JUMP_MS) this.#readings = [];
    this.#readings = [...this.#readings.slice(1 - READINGS_MAX), reading];
    this.#offsetMs = Math.max(...this.#readings);
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#offsetMs + this.passedMs();
  }
}

export const serverClock = new ServerClock();

/** {@link ServerClock.now}, ten times a second while the page is visible. */
export const now = signal(0);

export function tick(): void {
  if (!document.hidden) now.value = serverClock.now();
}

setInterval(tick, TICK_MS);
document.addEventListener('visibilitychange', tick);
