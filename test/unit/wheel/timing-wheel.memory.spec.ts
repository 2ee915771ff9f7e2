import assert from 'node:assert/strict';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { TimingWheel } from '../../../src/delay-queue/wheel/timing-wheel.js';
import { WheelBesideList } from './wheel-beside-list.js';

/** The first allocation; from then on memory doubles. */
const ALLOCATED_MIN = 1_024;

describe('memory', () => {
  it('is bounded by the most that waited at once, however many come and go', () => {
    const burst = fc.record({
      added: fc.integer({ min: 1, max: 2_000 }),
      cancelled: fc.constantFrom(0, 0.5, 0.99, 1),
      spanMs: fc.constantFrom(1, 5_000, 2 ** 31, 2 ** 42),
      aheadMs: fc.constantFrom(0, 3, 2_500, 2 ** 42),
    });
    fc.assert(
      fc.property(fc.array(burst, { minLength: 1, maxLength: 12 }), fc.nat(), (bursts, salt) => {
        const wheel = new TimingWheel({ capacity: 50_000, cascadeLimit: 100 });
        const expired = new Int32Array(256);
        const waiting = new Map<number, number>();
        let nowMs = 0;
        let most = 0;
        for (const { added, cancelled, spanMs, aheadMs } of bursts) {
          for (let at = 0; at < added; at++) {
            const handle = wheel.add(nowMs + ((at * 7_919 + salt) % 1_000) * (spanMs / 1_000));
            const index = wheel.indexOf(handle);
            assert.ok(!waiting.has(index), 'two timers have one index');
            waiting.set(index, handle);
          }
          most = Math.max(most, waiting.size);
          const leaving = [...waiting].slice(0, Math.ceil(waiting.size * cancelled));
          for (const [index, handle] of leaving.toReversed()) {
            assert.ok(wheel.cancel(handle));
            waiting.delete(index);
          }
          nowMs += aheadMs;
          // Once only: what a bounded advance leaves undone lies about while others come.
          const count = wheel.advance(nowMs, expired);
          for (const index of expired.subarray(0, count)) assert.ok(waiting.delete(index));
          expect(wheel.size).toBe(waiting.size);
          expect(wheel.allocated).toBeLessThanOrEqual(Math.max(ALLOCATED_MIN, 2 * most));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('does not grow in a million adds and cancels', () => {
    const wheel = new TimingWheel({ capacity: 1_000_000 });
    const handles = Array.from({ length: 1_000 }, (_, at) => wheel.add(at * 600));
    for (let at = 0; at < 1_000_000; at++) {
      const which = (at * 7_919) % handles.length;
      if (!wheel.cancel(handles[which]!)) throw new Error('a handle went stale');
      handles[which] = wheel.add((at * 31) % 600_000);
    }
    expect(wheel.size).toBe(1_000);
    expect(wheel.allocated).toBe(ALLOCATED_MIN);
  });
});

describe('a wheel that grows', () => {
  it('keeps what lies beyond its reach, added before and after', () => {
    const pair = new WheelBesideList({
      capacity: 5_000,
      originMs: 0,
      cascadeLimit: 4_096,
      limit: 1_024,
    });
    for (let at = 0; at < 4_000; at++)
      pair.add(at % 3 === 0 ? at : (1 + (at % 5)) * 2 ** 40 + ((at * 7_919) % 4_000));
    for (let id = 0; id < 4_000; id += 7) pair.move(id, 2 ** 41 + id);
    pair.check();
    for (const deadlineMs of [5_000, 2 ** 41, 2 ** 41 + 5_000, 2 ** 43]) pair.advance(deadlineMs);
    expect(pair.fired).toHaveLength(4_000);
  });

  it('may do so while a slot is being spread', () => {
    const pair = new WheelBesideList({
      capacity: 5_000,
      originMs: 0,
      cascadeLimit: 10,
      limit: 1_024,
    });
    for (let at = 0; at < 1_000; at++) pair.add(1_600 + (at % 400));
    pair.step(1_500);
    expect(pair.caughtUp).toBe(false);
    for (let at = 0; at < 3_500; at++) pair.add(1_550 + ((at * 7_919) % 4_000));
    for (const deadlineMs of [1_600, 1_601, 2_048, 6_000]) pair.advance(deadlineMs);
    expect(pair.fired).toHaveLength(4_500);
  });
});

describe('a record that is used again', () => {
  it('knows the handles of its predecessors from its own, upside down too', () => {
    const wheel = new TimingWheel({ capacity: 1 });
    const stale: number[] = [];
    for (let use = 0; use < 100; use++) {
      const handle = wheel.add(use);
      expect(stale.some((old) => wheel.cancel(old) || wheel.move(old, 0))).toBe(false);
      expect(wheel.cancel(handle)).toBe(true);
      expect(wheel.cancel(-handle)).toBe(false);
      stale.push(handle);
    }
    expect(new Set(stale).size).toBe(100);
    expect(wheel.size).toBe(0);
  });
});
