import { expect, it } from '@jest/globals';
import { SweepSize } from '../../../src/delay-queue/intake/sweep/sweep-size.js';

it('the pages of a process begin with few rows, and grow until they are as large as they may be', () => {
  const size = new SweepSize();
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
  const size = new SweepSize();
  size.begin(1);
  expect(size.scan).toBe(4_000);
  size.next(1);
  expect(size.scan).toBe(10_000);
  size.begin(2.5);
  expect(size.scan).toBe(5_500);
});
