import { expect, it } from '@jest/globals';
import { changeBetween } from '../../../../src/shop/feed/change.js';
import type { Feed, Happening, OrderCard } from '../../../../src/shop/feed/feed.js';

const card = (no: number, status = 'UNPAID') => ({ id: `order ${no}`, no, status }) as OrderCard;
const happening = (id: string) => ({ id }) as Happening;

const before = {
  serverNow: 'then',
  servedBy: 'shop-1',
  skus: [{ sku: 'CUP', name: 'A cup', price: 1, stock: 9, initialStock: 9 }],
  orders: [card(2), card(1)],
  happenings: [happening('b'), happening('a')],
} as unknown as Feed;

it('is nothing when only time has passed', () => {
  expect(changeBetween(before, { ...before, serverNow: 'now' })).toBeNull();
});

it('holds new and different orders as whole cards, and new happenings', () => {
  const after: Feed = {
    ...before,
    serverNow: 'now',
    orders: [card(3), card(2), card(1, 'PAID')],
    happenings: [happening('c'), happening('b')],
  };
  expect(changeBetween(before, after)).toEqual({
    serverNow: 'now',
    servedBy: 'shop-1',
    orders: [card(3), card(1, 'PAID')],
    happenings: [happening('c')],
  });
});

it('holds everything else as a whole when something in it is different', () => {
  const skus = [{ ...before.skus[0]!, stock: 8 }];
  expect(changeBetween(before, { ...before, skus })).toEqual({
    serverNow: 'then',
    servedBy: 'shop-1',
    skus,
  });
});
