import { expect, it } from '@jest/globals';
import { ScanSize } from '../../../src/delay-queue/worker/scanner.js';

it('the pages of a process begin with few rows, and grow until they are as large as they may be', () => {
  const size = new ScanSize();
  size.begin(1);
  const pages = Array.from({ length: 6 }, () => {
    const { page } = size;
    size.next(page);
    return page;
  });
  expect(pages).toEqual([125, 250, 500, 1_000, 2_000, 2_000]);
  size.begin(4);
  expect(size.page).toBe(2_000);
});

it('as many rows are looked at as the page before suggests', () => {
  const size = new ScanSize();
  size.begin(1);
  expect(size.scan).toBe(4_000);
  size.next(1);
  expect(size.scan).toBe(10_000);
  size.begin(2.5);
  expect(size.scan).toBe(5_500);
});

const tooMuch = (): Promise<never> =>
  Promise.reject(Object.assign(new Error('timeout'), { code: '57014' }));

it('what lies behind a crowd is fetched in the largest pages, and no larger than a statement may look', async () => {
  const size = new ScanSize();
  expect(size.largest).toEqual({ page: 2_000, scan: 10_000 });
  for (const scan of [10_000, 5_000, 2_500]) await size.runOrShrink(scan, tooMuch);
  expect(size.largest).toEqual({ page: 1_250, scan: 1_250 });
  size.begin(1);
  expect([size.scan, size.page]).toEqual([1_250, 125]);
});
