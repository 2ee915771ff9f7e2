import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type { BenchProducer } from '../../../bench/adapters/adapter.js';
import { call } from '../../../bench/processes/call.js';
import type { CallOrder } from '../../../bench/processes/protocol.js';

const ORDER: CallOrder = {
  type: 'call',
  call: 'schedule',
  first: 10,
  count: 25,
  inFlight: 4,
  size: 10,
  dueInMs: 5_000,
};

/** A queue in memory that answers in the next turn of the event loop. */
class MemoryQueue implements BenchProducer {
  readonly waiting = new Map<number, number>();
  readonly bulks: [first: number, count: number][] = [];
  inFlight = 0;
  inFlightMost = 0;

  async schedule(n: number, dueInMs: number): Promise<void> {
    this.inFlight += 1;
    this.inFlightMost = Math.max(this.inFlightMost, this.inFlight);
    await turn();
    this.inFlight -= 1;
    this.waiting.set(n, dueInMs);
  }

  async scheduleMany(first: number, count: number): Promise<void> {
    this.bulks.push([first, count]);
  }

  async cancel(n: number): Promise<boolean> {
    return this.waiting.delete(n);
  }

  async stop(): Promise<void> {}
}

describe('calls of a producer', () => {
  it('are made once for each delay, so many in flight and no more; cancels that found theirs count', async () => {
    const queue = new MemoryQueue();
    await call(queue, ORDER);
    expect(queue.waiting.size).toBe(25);
    expect(new Set(queue.waiting.values())).toEqual(new Set([5_000]));
    expect(queue.inFlightMost).toBe(4);
    const { found } = await call(queue, { ...ORDER, call: 'cancel', count: 30 });
    expect(found).toBe(25);
  });

  it('carry what is left in the last bulk', async () => {
    const queue = new MemoryQueue();
    await call(queue, { ...ORDER, call: 'scheduleMany', inFlight: 1 });
    expect(queue.bulks).toEqual([
      [10, 10],
      [20, 10],
      [30, 5],
    ]);
  });
});
