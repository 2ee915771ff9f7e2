import { expect, it } from '@jest/globals';
import { latenessesOf, percentile } from '../../../../src/demo/race/lateness.js';
import type { Ledger } from '../../../../src/demo/race/ledger.js';
import type { Picture } from '../../../../src/demo/race/picture.js';

/** When it was due, and how much later it was closed. */
const CLOSES: Record<string, [payDeadlineMs: number, lateMs: number]> = {
  calm: [50, 1],
  begun: [99, 4_000],
  inherited: [120, 2_000],
  slept: [150, 1_500],
  woken: [250, 2],
  'of somebody else': [50, 99_999],
};

it('the lateness of closes is told apart by the process whose work it was', () => {
  const own = Object.keys(CLOSES).filter((id) => id !== 'of somebody else');
  const placed = { total: 1, payDeadlineMs: 0, home: 0, items: [], payment: null };
  const ledger: Ledger = {
    closer: 'delay-queue',
    orders: own.map((id) => ({ id, ...placed })),
    killed: { process: 0, atMs: 100, held: ['begun'], owned: ['inherited'] },
    paused: { process: 1, atMs: 100, held: [], owned: ['slept', 'woken'], untilMs: 200 },
  };
  const orders = Object.entries(CLOSES).map(([id, [payDeadlineMs, lateMs]]) => {
    const closed = {
      status: 'CLOSED',
      paidAtMs: null,
      closedAtMs: payDeadlineMs + lateMs,
    } as const;
    return { id, no: 1, payDeadlineMs, ...closed };
  });
  const picture: Picture = { nowMs: 300, orders, payments: [], stock: [], closes: [] };
  const told = latenessesOf(ledger, picture).map(({ of, count, maxMs }) => [of, count, maxMs]);
  expect(told).toEqual([
    ['all', 5, 4_000],
    ['of processes that were not hit', 1, 1],
    ['begun by the killed process', 1, 4_000],
    ['of the killed process, due after its death', 1, 2_000],
    ['begun by the paused process', 0, Number.NaN],
    ['of the paused process, due in its pause', 1, 1_500],
  ]);
});

it('the lateness of closes has percentiles that occurred', () => {
  const told = [0, 0.5, 0.99, 1].map((fraction) => percentile([1, 2, 3, 9], fraction));
  expect(told).toEqual([1, 3, 9, 9]);
  expect(percentile([], 0.5)).toBeNaN();
});
