import { describe, expect, it } from '@jest/globals';
import { cellsOf, figure, render, rounds, spread } from '../../../bench/report/table.js';

describe('a table of results', () => {
  it('shows median and range of the rounds, and a single round as it is', () => {
    expect(spread([45_100, 48_200, 47_600])).toBe('47,600 (45,100–48,200)');
    expect(spread([0.5], 2)).toBe('0.50');
  });

  it('leaves out rounds without a figure, and says so when there is none', () => {
    expect(spread([Number.NaN, 3, 1])).toBe('2 (1–3)');
    expect(spread([Number.NaN])).toBe('–');
    expect(figure(Number.NaN)).toBe('–');
  });

  it('keeps the figures of a cell and prints them in columns', () => {
    const columns = [{ title: 'per second', of: ({ fast }: { fast: number }) => fast, digits: 1 }];
    const cells = cellsOf(columns, [{ fast: 1 }, { fast: 2 }]);
    expect(cells).toEqual([{ values: [1, 2], digits: 1 }]);
    const table = {
      title: 'Enqueue',
      notes: ['one by one'],
      columns: ['system', 'per second', 'wrong'],
      rows: [
        ['ours', ...cells, '0'],
        ['others', 'cannot', '–'],
      ],
    };
    expect(render(table).split('\n')).toEqual([
      'Enqueue',
      '  one by one',
      '',
      'system |    per second | wrong',
      '-------|---------------|------',
      'ours   | 1.5 (1.0–2.0) |     0',
      'others |        cannot |     –',
    ]);
  });

  it('prints whole numbers unless told otherwise', () => {
    expect(rounds([1.6])).toEqual({ values: [1.6], digits: 0 });
  });
});
