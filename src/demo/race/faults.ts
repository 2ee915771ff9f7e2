import { setTimeout as pause } from 'node:timers/promises';
import type { ServerClock } from './server-clock.js';
import type { ShopProcess } from './shop-process.js';

/** The process is stopped at the latest after this long, whatever it does then. */
const PATIENCE_MS = 2_000;
const BETWEEN_LOOKS_MS = 4;

/**
 * Stops a process with SIGSTOP in the middle of its work. Waits until it is at work, stops it, and
 * resumes it if that work was done meanwhile.
 */
export async function stopAtWork(
  victim: ShopProcess,
  isAtWork: () => Promise<boolean>,
  clock: ServerClock,
): Promise<void> {
  const untilMs = clock.nowMs + PATIENCE_MS;
  const isTime = async (): Promise<boolean> => clock.nowMs > untilMs || (await isAtWork());
  for (;;) {
    while (!(await isTime())) await pause(BETWEEN_LOOKS_MS);
    victim.pause();
    if (await isTime()) return;
    victim.resume();
  }
}
