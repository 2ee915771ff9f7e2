import { describe, expect, it } from '@jest/globals';
import { changeBetween } from '../../../../src/shop/feed/change.js';
import type { Feed, Happening, OrderCard } from '../../../../src/shop/feed/feed.js';
import { Tally } from '../../../../src/shop/feed/lateness.js';

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

const fired = { node: 'shop-1', settled: true, watched: true, lateMs: 3, count: 1, maxMs: 2.96 };

describe('what changed', () => {
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
});

describe('the lateness of what fired', () => {
  it('counts each once, by process and by how late it was', () => {
    const tally = new Tally();
    tally.add({ ...fired, count: 98 });
    tally.add({ ...fired, node: 'shop-2', lateMs: 60, maxMs: 59.94 });
    tally.add({ ...fired, node: 'shop-2', lateMs: 2_000, maxMs: 1_987.12 });
    tally.add({ ...fired, watched: false, lateMs: 9_000, maxMs: 8_999 });
    expect([tally.firedBy('shop-1'), tally.firedBy('shop-2'), tally.firedBy('else')]).toEqual([
      99, 2, 0,
    ]);
    const { buckets, ...lateness } = tally.lateness();
    expect(lateness).toEqual({ p50Ms: 3, p99Ms: 60, maxMs: 1_987.1, count: 100 });
    expect(buckets.filter(({ count }) => count > 0)).toEqual([
      { upToMs: 5, count: 98 },
      { upToMs: 100, count: 1 },
      { upToMs: null, count: 1 },
    ]);
  });
  it('knows nothing before anything has fired', () => {
    const { buckets: _, ...lateness } = new Tally().lateness();
    expect(lateness).toEqual({ p50Ms: null, p99Ms: null, maxMs: null, count: 0 });
  });
  it('a copy goes its own way', () => {
    const tally = new Tally();
    tally.copy().add(fired);
    expect(tally.lateness().count).toBe(0);
  });
});
