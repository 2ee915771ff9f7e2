import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawCharts } from '../../../bench/charts.js';
import { rounds, type Table } from '../../../bench/report/table.js';

const DRAIN: Table = {
  name: 'drain',
  title: 'Drain',
  notes: [],
  columns: ['system', 'processes', 'beside', 'delays/s', 'ratio'],
  rows: [
    ['ours, history on', '1', '0', rounds([50_000, 52_000, 51_000]), '–'],
    ['ours, history on', '1', '1,000,000', rounds([47_000]), rounds([0.94, Number.NaN])],
    ['table poll', '2', '0', rounds([40_000]), '–'],
  ],
};

const NAMELESS: Table = { title: 'Wheel', notes: [], columns: ['store'], rows: [['heap']] };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'delay-queue-charts-'));
});

afterEach(() => rm(folder, { recursive: true }));

async function written(name: string, tables: readonly Table[]): Promise<string> {
  const path = join(folder, name);
  const facts = ['2 cores, 23.5 GiB', 'NOT QUIET: load 7; not for figures to quote'];
  await writeFile(path, JSON.stringify({ facts, settings: { rounds: 3 }, tables }));
  return path;
}

describe('drawing the results of a run', () => {
  it('makes the charts that the tables have figures for', async () => {
    const results = await written('results.json', [NAMELESS, DRAIN]);
    const paths = await drawCharts([results], join(folder, 'charts'));
    expect(paths).toEqual([
      join(folder, 'charts', 'drain.svg'),
      join(folder, 'charts', 'drain-backlog.svg'),
    ]);
    const [drain, backlog] = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
    expect(drain).toContain(
      'ours, history on · 1 process: 51,000; table poll · 2 processes: 40,000',
    );
    expect(drain).toContain('2 cores, 23.5 GiB · NOT QUIET · medians of 3 interleaved rounds');
    expect(backlog).toContain('ours, history on · 1 process · beside 1,000,000: 0.94');
    // As long as the medians say.
    const bars = [...drain!.matchAll(/<rect class="bar[^>]* width="([\d.]+)"/g)];
    const [ours, theirs] = bars.map(([, width]) => Number(width));
    expect(ours! / theirs!).toBeCloseTo(51 / 40, 1);
  });
});
