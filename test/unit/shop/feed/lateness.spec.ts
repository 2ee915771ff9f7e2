import { expect, it } from '@jest/globals';
import { Tally } from '../../../../src/shop/feed/lateness.js';

const fired = { node: 'shop-1', settled: true, watched: true, lateMs: 3, count: 1, maxMs: 2.96 };

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
