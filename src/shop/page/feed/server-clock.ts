import { signal } from '@preact/signals';

/** A reading that came through quickly is among so many. */
const READINGS_MAX = 40;

/** More than any delivery takes: the computer slept, or the server's clock was set. */
const JUMP_MS = 5_000;

const TICK_MS = 100;

/**
 * The server's clock as far as one can tell from here. The visitor's own is never asked, it may be
 * wrong by hours: only the time that passes is measured here. A reading is late by what its delivery
 * took, so the greatest difference is the nearest to the truth.
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
