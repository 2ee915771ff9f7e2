import { describe, expect, it } from '@jest/globals';
import { account, shownAccounting } from '../../../bench/measure/accounting.js';
import type { WorkerReport } from '../../../bench/processes/protocol.js';
import { largest, median, percentile, percentilesOf } from '../../../bench/report/statistics.js';
import { cellsOf, render, spread } from '../../../bench/report/table.js';

/** What a worker tells, as far as it is accounted for. */
const reportOf = (runs: number[], strays = 0): WorkerReport =>
  ({ runs: Uint8Array.from(runs), strays }) as WorkerReport;

describe('accounting', () => {
  it('adds the runs of all workers: none is lost, more than one is twice', () => {
    const reports = [reportOf([1, 0, 1, 0]), reportOf([0, 0, 1, 1], 2)];
    const accounting = account(reports, 4, 3);
    expect(accounting).toEqual({ lost: 1, twice: 1, strays: 2, leftBehind: 3 });
    expect(shownAccounting([accounting, accounting])).toBe('2 / 2, 4 strays, 6 left behind');
  });
});

describe('statistics', () => {
  it('have the middle value as the median, or the mean of the two in the middle', () => {
    expect([median([9, 1, 5]), median([9, 1, 5, 2])]).toEqual([5, 3.5]);
  });

  it.each<[values: number[], at: number, expected: number]>([
    [[0, 10], 0.25, 2.5],
    [[6, 2, 4], 0.99, 5.96],
    [[7], 0.99, 7],
    [[3, 8], 0, 3],
    [[3, 8], 1, 8],
  ])('interpolate percentiles between the closest ranks: %j at %d', (values, at, expected) => {
    expect(percentile(values, at)).toBe(expected);
  });

  it('sum up how long things took, and say nothing of nothing', () => {
    expect(percentilesOf([4, 2, 6])).toEqual({ p50Ms: 4, p99Ms: 5.96, maxMs: 6 });
    expect(percentilesOf([])).toEqual({ p50Ms: Number.NaN, p99Ms: Number.NaN, maxMs: Number.NaN });
  });

  it('find the largest of more values than a call takes arguments', () => {
    expect(largest(Array.from({ length: 500_000 }, (_, index) => index % 499_999))).toBe(499_998);
  });
});

describe('a table of results', () => {
  it('keeps the figures of a cell, and prints median and range of the rounds in columns', () => {
    expect(spread([45_100, 48_200, 47_600])).toBe('47,600 (45,100–48,200)');
    expect(spread([0.5], 2)).toBe('0.50');
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
});
