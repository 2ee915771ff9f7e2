import { setTimeout as pause } from 'node:timers/promises';
import type { Hands } from './hands.js';
import type { ServerClock } from './server-clock.js';
import type { ShopProcess } from './shop-process.js';

/** It is stopped at the latest after so long, whatever it does then. */
const PATIENCE_MS = 2_000;
const BETWEEN_LOOKS_MS = 2;

/** What it had in its hands when it stopped, on the database's clock. */
export interface Stopped extends Hands {
  atMs: number;
}

/**
 * Stops a process with SIGSTOP in the middle of its work: waits until it has begun something that
 * `matters`, stops it, and lets it go on if that was done meanwhile. One whose work cannot be seen is
 * stopped at once.
 */
export async function stopAtWork(
  victim: ShopProcess,
  hands: () => Promise<Hands>,
  clock: ServerClock,
  matters: ((orderId: string) => boolean) | null,
): Promise<Stopped> {
  const untilMs = clock.nowMs + PATIENCE_MS;
  const isAtWork = async (): Promise<boolean> =>
    matters === null || clock.nowMs > untilMs || (await hands()).held.some(matters);
  for (;;) {
    while (!(await isAtWork())) await pause(BETWEEN_LOOKS_MS);
    victim.pause();
    if (await isAtWork()) return { atMs: clock.nowMs, ...(await hands()) };
    victim.resume();
  }
}
