import { describe, expect, it } from '@jest/globals';
import { largest, median, percentile, percentilesOf } from '../../../bench/report/statistics.js';

describe('statistics', () => {
  it('have the middle value as the median, or the mean of the two in the middle', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([9, 1, 5, 2])).toBe(3.5);
  });

  it('interpolate percentiles between the closest ranks', () => {
    const values = Array.from({ length: 101 }, (_, index) => 100 - index);
    expect(percentile(values, 0.99)).toBe(99);
    expect(percentile([0, 10], 0.25)).toBe(2.5);
    expect(percentile([7], 0.99)).toBe(7);
    expect(percentile([3, 8], 0)).toBe(3);
    expect(percentile([3, 8], 1)).toBe(8);
  });

  it('leave their input in its order', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });

  it('answer NaN of nothing', () => {
    expect(median([])).toBeNaN();
  });

  it('sum up how long things took, and say nothing of nothing', () => {
    expect(percentilesOf([4, 2, 6])).toEqual({ p50Ms: 4, p99Ms: 5.96, maxMs: 6 });
    expect(percentilesOf([])).toEqual({ p50Ms: Number.NaN, p99Ms: Number.NaN, maxMs: Number.NaN });
  });

  it('find the largest of more values than a call takes arguments', () => {
    const values = Array.from({ length: 500_000 }, (_, index) => index % 499_999);
    expect(largest(values)).toBe(499_998);
  });
});
