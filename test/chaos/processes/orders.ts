import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { NodeOrder } from '../world.js';
import { POOL_MAX } from './chaos-app.js';
import { shiftWallClock } from './wall-clock.js';

/** Does what a fault orders this process to do to itself. */
export function obey(order: NodeOrder, dataSource: DataSource): void {
  if ('blockMs' in order) block(order.blockMs);
  else if ('holdPoolMs' in order) void holdPool(dataSource, order.holdPoolMs);
  else shiftWallClock(order.jumpMs);
}

function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** Each of them as soon as it can be had. */
async function holdPool(dataSource: DataSource, ms: number): Promise<void> {
  const over = pause(ms);
  const hold = async (): Promise<void> => {
    const runner = dataSource.createQueryRunner();
    try {
      await runner.connect();
      await over;
    } catch {
      // There was none to be had in time.
    } finally {
      await runner.release();
    }
  };
  await Promise.all(Array.from({ length: POOL_MAX }, hold));
}
