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

const told = { serverNow: 'now', servedBy: 'shop-1' };
const skus = [{ ...before.skus[0]!, stock: 8 }];

it.each<[what: string, after: Partial<Feed>, change: object | null]>([
  ['nothing, when only time has passed', {}, null],
  [
    'new and different orders as whole cards',
    { orders: [card(3), card(2), card(1, 'PAID')] },
    { ...told, orders: [card(3), card(1, 'PAID')] },
  ],
  [
    'new happenings',
    { happenings: [happening('c'), happening('b')] },
    { ...told, happenings: [happening('c')] },
  ],
  ['everything else as a whole', { skus }, { ...told, skus }],
])('a change holds %s', (_, after, change) => {
  expect(changeBetween(before, { ...before, serverNow: 'now', ...after })).toEqual(change);
});
