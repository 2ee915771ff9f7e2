import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Latencies } from '../../../bench/harness/latencies.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('keeps the latencies of the last thirty seconds and forgets the older ones', () => {
  const latencies = new Latencies();
  expect(latencies.percentiles()).toEqual({ p50: 0, p95: 0, p99: 0 });
  for (let n = 0; n < 100; n += 1) latencies.note(500);
  jest.advanceTimersByTime(29_000);
  for (let n = 0; n < 100; n += 1) latencies.note(2);
  expect(latencies.percentiles().p99).toBeCloseTo(500, -1);
  expect(latencies.percentiles().p50).toBeCloseTo(2, 1);
  jest.advanceTimersByTime(2_000);
  expect(latencies.percentiles().p99).toBeCloseTo(2, 1);
  // Longer than the window: nothing of before is left, wherever its part lies.
  jest.advanceTimersByTime(75_000);
  expect(latencies.percentiles()).toEqual({ p50: 0, p95: 0, p99: 0 });
});
