import { describe, expect, it } from '@jest/globals';
import { linearScale, logScale } from '../../../bench/report/scale.js';

describe('a linear scale', () => {
  it('goes from zero in round steps to a tick that is not below the largest value', () => {
    expect(linearScale(68_900).ticks).toEqual([0, 20_000, 40_000, 60_000, 80_000]);
    expect(linearScale(1).ticks).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(linearScale(50).ticks.at(-1)).toBe(50);
  });

  it('puts values where they belong', () => {
    const scale = linearScale(100);
    expect([0, 25, 100].map((value) => scale.at(value))).toEqual([0, 0.25, 1]);
  });

  it('exists even when all is zero', () => {
    expect(linearScale(0).ticks.at(-1)).toBeGreaterThan(0);
    expect(linearScale(0).at(0)).toBe(0);
  });
});

describe('a scale of powers of ten', () => {
  it('has the powers around its values', () => {
    expect(logScale(0.4, 1_039).ticks).toEqual([0.1, 1, 10, 100, 1_000, 10_000]);
    expect(logScale(1, 1).ticks).toEqual([1, 10]);
  });

  it('has equal distances between them, and nothing before its start', () => {
    const scale = logScale(1, 1_000);
    expect(scale.at(10)).toBeCloseTo(1 / 3);
    expect(scale.at(0)).toBe(0);
  });
});
