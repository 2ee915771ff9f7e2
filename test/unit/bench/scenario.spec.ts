import { expect, it } from '@jest/globals';
import { parseCommandLine } from '../../../bench/run/command-line.js';
import { type Bench, compare } from '../../../bench/run/scenario.js';

it('variants are measured in turn, beside each other, and one that cannot run says why', async () => {
  const settings = parseCommandLine(['--rounds', '2']);
  if (settings === 'help') throw new Error('asked for help');
  const [told, order]: [string[], string[]] = [[], []];
  const bench: Bench = {
    settings,
    progress: (line) => void told.push(line),
    server: () => Promise.reject(new Error('no server is needed')),
  };
  const variants = [
    { title: 'floor', speeds: [10, 20] },
    { title: 'ours', speeds: [5, 15] },
    { title: 'theirs', speeds: [], notRun: 'it needs a package' },
  ];
  const table = await compare(bench, {
    name: 'speed',
    title: 'Speed',
    notes: [],
    variants,
    measure: async ({ title, speeds }) => {
      order.push(title);
      return speeds.shift()!;
    },
    labels: { what: ({ title }) => title },
    columns: [{ title: 'per second', of: (speed) => speed }],
    ratios: [{ title: 'ratio', of: (speed) => speed, isTo: (_, { title }) => title === 'floor' }],
    sums: { rounds: (speeds) => String(speeds.length) },
    expectedSeconds: () => 60,
  });
  expect(order).toEqual(['floor', 'ours', 'floor', 'ours']);
  expect(table.columns).toEqual(['what', 'per second', 'ratio', 'rounds']);
  expect(table.rows).toEqual([
    ['floor', { values: [10, 20], digits: 0 }, { values: [1, 1], digits: 2 }, '2'],
    ['ours', { values: [5, 15], digits: 0 }, { values: [0.5, 0.75], digits: 2 }, '2'],
    ['theirs', 'NOT RUN: it needs a package'],
  ]);
  expect(told.slice(0, 2)).toEqual([
    '*** NOT RUN: speed · theirs: it needs a package',
    'speed: 4 to measure in 2 rounds, about 4 min',
  ]);
  expect(told.at(-1)).toBe('speed · 4/4 · ours: per second 15, rounds: 1');
});
