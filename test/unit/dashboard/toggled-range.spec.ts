import { describe, expect, it } from '@jest/globals';
import { toggledRange } from '../../../src/delay-queue/dashboard/page/search/toggled-range.js';

const row = (id: string, endedAt: string | null = null) => ({ id, endedAt });
const ROWS = [row('a'), row('b'), row('c', '2026-01-01T00:00:00.000Z'), row('d'), row('e')];

const toggled = (before: string[], from: number, to: number): string[] =>
  [...toggledRange(new Set(before), ROWS, from, to)].toSorted();

describe('what a click on a row selects', () => {
  it('is that row, or no longer', () => {
    expect(toggled([], 1, 1)).toEqual(['b']);
    expect(toggled(['a', 'b'], 1, 1)).toEqual(['a']);
  });

  it('is with Shift all between, in either direction, but nothing that has ended', () => {
    expect(toggled(['b'], 1, 4)).toEqual(['b', 'd', 'e']);
    expect(toggled(['e'], 4, 0)).toEqual(['a', 'b', 'd', 'e']);
    expect(toggled([], 2, 2)).toEqual([]);
  });

  it('makes those between as the clicked row becomes, whatever each was', () => {
    expect(toggled(['a', 'd', 'e'], 0, 4)).toEqual([]);
    expect(toggled(['a', 'd'], 0, 4)).toEqual(['a', 'b', 'd', 'e']);
  });

  it('is nothing new on a row that is no longer there', () => {
    expect(toggled(['a'], 0, 9)).toEqual(['a']);
  });
});
