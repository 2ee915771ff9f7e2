import { expect, it } from '@jest/globals';
import type { Happening } from '../../../src/shop/feed/feed.js';
import { lifeLine } from '../../../src/terminal/life-line.js';

const happening: Happening = {
  id: '',
  at: '2026-11-22T12:00:00.000Z',
  what: 'order.closed',
  orderId: 'an id',
  no: 1001,
  delay: null,
  by: null,
  lateMs: null,
  stock: null,
  amount: null,
  detail: null,
};

it.each<[Partial<Happening>, string]>([
  [{ lateMs: 13.6, stock: 2, by: 'shop-1' }, '#1001 closed, 14 ms late, stock +2, by shop-1'],
  [{ stock: 2, detail: 'cancelled by buyer' }, '#1001 closed, stock +2'],
  [
    { what: 'order.placed', stock: -2, detail: '2 × CUP-WHITE' },
    '#1001 placed, 2 × CUP-WHITE, stock -2',
  ],
  [
    { what: 'order.rated', amount: 5, lateMs: 0.2, by: 'shop-2' },
    '#1001 rated, *****, 0 ms late, by shop-2',
  ],
  [{ what: 'payment.unkept', amount: 200 }, '#1001 paid too late or wrong, goes back, 2.00'],
  [
    { what: 'payment.refunded', amount: 1250, lateMs: 4, by: 'shop-1' },
    '#1001 refunded, 12.50, 4 ms late, by shop-1',
  ],
])('tells %j in a line', (facts, line) => {
  expect(lifeLine({ ...happening, ...facts })).toBe(line);
});

it('leaves to the supervisor what happens to processes', () => {
  const died: Partial<Happening> = { what: 'process.died', orderId: null, no: null, by: 'shop-1' };
  expect(lifeLine({ ...happening, ...died })).toBeUndefined();
});
