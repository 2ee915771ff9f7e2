import { describe, expect, it } from '@jest/globals';
import { TimingWheel } from '../../../src/delay-queue/wheel/timing-wheel.js';

/** Lets time pass in steps of one kind and answers when each timer fired, by its index. */
function firedAtMs(wheel: TimingWheel, untilMs: number, stepMs: number): Map<number, number> {
  const expired = new Int32Array(16);
  const fired = new Map<number, number>();
  for (let nowMs = 0; nowMs <= untilMs; nowMs += stepMs) {
    do {
      const count = wheel.advance(nowMs, expired);
      for (const index of expired.subarray(0, count)) {
        if (fired.has(index)) throw new Error(`timer ${index} fired twice`);
        fired.set(index, nowMs);
      }
    } while (wheel.nextExpiry() <= nowMs);
  }
  return fired;
}

describe('a ring of 3,600 slots with cycle counts', () => {
  it('fires 3,610 s at about 10 s when its loop visits a slot twice: here it waits', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    const timer = wheel.indexOf(wheel.add(3_610_000));
    // Looks again and again within the same millisecond, as a busy loop does.
    const expired = new Int32Array(4);
    for (let look = 0; look < 10_000; look++) expect(wheel.advance(10_000, expired)).toBe(0);
    expect(firedAtMs(wheel, 4_000_000, 1_000).get(timer)).toBe(3_610_000);
  });

  it('counts slots from its start: here a timer set late is not a lap late or early', () => {
    const wheel = new TimingWheel({ capacity: 4 });
    const expired = new Int32Array(4);
    let nowMs = 0;
    for (const pauseMs of [1_000, 58_999, 1, 3_539_999, 1, 4_177_777]) {
      for (const delayMs of [1, 999, 1_000, 1_001, 59_000]) {
        nowMs += pauseMs;
        wheel.advance(nowMs, expired);
        const timer = wheel.indexOf(wheel.add(nowMs + delayMs));
        nowMs += delayMs;
        expect(wheel.advance(nowMs - 1, expired)).toBe(0);
        expect(wheel.nextExpiry()).toBe(nowMs);
        expect(wheel.advance(nowMs, expired)).toBe(1);
        expect(expired[0]).toBe(timer);
      }
    }
  });

  it('is off by a tick or two: here every delay of the first seconds is exact', () => {
    const wheel = new TimingWheel({ capacity: 3_000 });
    const timers = Array.from({ length: 2_500 }, (_, ms) => wheel.indexOf(wheel.add(ms)));
    const fired = firedAtMs(wheel, 3_000, 1);
    expect(timers.map((timer) => fired.get(timer))).toEqual(timers.map((_, ms) => ms));
  });
});

describe('a minute wheel above a second wheel', () => {
  it('wraps past 60 minutes: here 61 minutes are not one', () => {
    const wheel = new TimingWheel({ capacity: 8 });
    const minutes = [1, 59, 60, 61, 119, 120, 121, 24 * 60];
    const timers = minutes.map((each) => wheel.indexOf(wheel.add(each * 60_000)));
    const fired = firedAtMs(wheel, 24 * 3_600_000, 1_000);
    expect(timers.map((timer) => fired.get(timer)! / 60_000)).toEqual(minutes);
  });
});

describe('timer-wheel on npm', () => {
  it.each([1, 10, 50, 100, 250])('loses 1,500 ms and others, looked at every %d ms', (stepMs) => {
    const wheel = new TimingWheel({ capacity: 8 });
    const delaysMs = [100, 1_500, 1_600, 2_500];
    const timers = delaysMs.map((delayMs) => wheel.indexOf(wheel.add(delayMs)));
    const fired = firedAtMs(wheel, 5_000, stepMs);
    const inStepMs = delaysMs.map((delayMs) => Math.ceil(delayMs / stepMs) * stepMs);
    expect(timers.map((timer) => fired.get(timer))).toEqual(inStepMs);
  });
});

describe('setTimeout', () => {
  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 5, 90 * 24 * 3_600_000, 2 ** 40])(
    'fires at once beyond 2^31 ms: here %d ms is waited for',
    (deadlineMs) => {
      const wheel = new TimingWheel({ capacity: 2 });
      wheel.add(deadlineMs);
      const expired = new Int32Array(2);
      for (const early of [1, 2 ** 31 % deadlineMs, deadlineMs - 1]) {
        expect(wheel.advance(early, expired)).toBe(0);
      }
      let count = 0;
      do count += wheel.advance(deadlineMs, expired);
      while (wheel.nextExpiry() <= deadlineMs);
      expect(count).toBe(1);
    },
  );
});
