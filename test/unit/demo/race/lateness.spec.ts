import { describe, expect, it } from '@jest/globals';
import { latenessesOf, percentile } from '../../../../src/demo/race/lateness.js';
import type { Ledger, LedgerOrder } from '../../../../src/demo/race/ledger.js';
import type { Picture } from '../../../../src/demo/race/picture.js';

const order = (id: string): LedgerOrder => ({
  id,
  total: 1,
  payDeadlineMs: 0,
  home: 0,
  items: [],
  payment: null,
});

const closed = (id: string, payDeadlineMs: number, lateMs: number): Picture['orders'][0] => ({
  id,
  no: 1,
  status: 'CLOSED',
  payDeadlineMs,
  paidAtMs: null,
  closedAtMs: payDeadlineMs + lateMs,
});

describe('the lateness of closes', () => {
  it('is told apart by the process whose work it was', () => {
    const ids = ['calm', 'begun', 'inherited', 'slept', 'woken'];
    const ledger: Ledger = {
      closer: 'delay-queue',
      orders: ids.map(order),
      killed: { process: 0, atMs: 100, held: ['begun'], owned: ['inherited'] },
      paused: { process: 1, atMs: 100, held: [], owned: ['slept', 'woken'], untilMs: 200 },
    };
    const orders = [
      closed('calm', 50, 1),
      closed('begun', 99, 4_000),
      closed('inherited', 120, 2_000),
      closed('slept', 150, 1_500),
      closed('woken', 250, 2),
      closed('of somebody else', 50, 99_999),
    ];
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

  it('has percentiles that occurred', () => {
    expect([0, 0.5, 0.99, 1].map((fraction) => percentile([1, 2, 3, 9], fraction))).toEqual([
      1, 3, 9, 9,
    ]);
    expect(percentile([], 0.5)).toBeNaN();
  });
});
