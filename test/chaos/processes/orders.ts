import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { type NodeOrder, POOL_MAX } from './process.protocol.js';

let shiftMs = 0;
const RealDate = Date;

/** The wall clock of this process alone, and not the monotonic one: what setting a clock does. */
class ShiftedDate extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [RealDate.now() + shiftMs] : given) as [number]));
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

/** From now on `Date` is off by so much more. */
export function shiftWallClock(byMs: number): void {
  shiftMs += byMs;
  globalThis.Date = ShiftedDate as DateConstructor;
}

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
