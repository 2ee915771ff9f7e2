import { describe, expect, it } from '@jest/globals';
import { NO_INDEX, TimingWheel } from '../../../src/delay-queue/wheel/timing-wheel.js';

describe('the farthest', () => {
  const far = [7, 1_500, 2 ** 20 + 3, 5 * 2 ** 30 + 3, 2 ** 39 + 2 ** 33 + 9, 2 ** 40 + 1, 2 ** 45];

  it.each(
    far.flatMap((aheadMs) => [0, 3 * 2 ** 32 + 77].map((nowMs) => [aheadMs, nowMs] as const)),
  )('of one timer %d ms ahead at %d is told by its whole deadline', (aheadMs, nowMs) => {
    const wheel = new TimingWheel({ capacity: 1 });
    wheel.advance(nowMs, new Int32Array(1));
    const index = wheel.indexOf(wheel.add(nowMs + aheadMs));
    expect(wheel.evictFarthest(nowMs + aheadMs)).toBe(NO_INDEX);
    expect(wheel.evictFarthest(nowMs + aheadMs - 0.5)).toBe(NO_INDEX);
    expect(wheel.evictFarthest(nowMs + aheadMs - 1)).toBe(index);
  });

  it('beyond the reach is told by its whole deadline amid a spread, too', () => {
    const wheel = new TimingWheel({ capacity: 3, cascadeLimit: 1 });
    for (const ms of [5, 6, 7]) wheel.add(2 ** 41 + ms);
    wheel.advance(2 ** 40, new Int32Array(1));
    expect(wheel.evictFarthest(2 ** 41 + 7)).toBe(NO_INDEX);
    expect(wheel.evictFarthest(2 ** 41 + 6)).toBe(2);
  });
});
