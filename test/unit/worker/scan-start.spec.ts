import { beforeEach, expect, it } from '@jest/globals';
import { ScanStart } from '../../../src/delay-queue/worker/scanner.js';
import type { SweptPage } from '../../../src/delay-queue/store/rows/delay-rows.js';

/** On the database's clock. */
const NOW_MS = 1_000_000;
const EMPTY: SweptPage = { wakes: [], cursor: null, oldestMs: null, nowMs: NOW_MS };

let start: ScanStart;

beforeEach(() => {
  start = new ScanStart();
});

/** A pass of one page that takes so long. @returns where it began */
function pass(atMs: number, tookMs: number, page: Partial<SweptPage> = {}): number | undefined {
  const from = start.begin(atMs);
  start.read({ ...EMPTY, ...page }, atMs, atMs + tookMs);
  return from?.wakeMs;
}

it('quick passes begin at the beginning, however soon they come', () => {
  for (const atMs of [0, 100, 200]) expect(pass(atMs, 100)).toBeUndefined();
});

it('after a slow one they begin at the oldest row for fifty times as long', () => {
  expect(pass(0, 200, { oldestMs: 600_000 })).toBeUndefined();
  expect(pass(5_000, 1, { oldestMs: 700_000 })).toBe(600_000 - 1);
  expect(pass(10_199, 1)).toBe(700_000 - 1);
  expect(pass(10_200, 1)).toBeUndefined();
});

it('with nothing overdue they begin a little before the time of the pass', () => {
  pass(0, 200);
  expect(pass(1, 1, { oldestMs: NOW_MS - 1 })).toBe(NOW_MS - 5_001);
  expect(pass(2, 1)).toBe(NOW_MS - 5_001);
});

it('in front of a backlog they begin at the beginning, also when its last page was read', () => {
  pass(0, 200);
  const from = start.begin(1);
  const more = { ...EMPTY, cursor: { wakeMs: 5, id: 5 } };
  start.read(more, 1, 500);
  expect(from).not.toBeNull();
  expect(start.begin(501)).toBeNull();
  start.read(more, 501, 700);
  start.read({ ...EMPTY, oldestMs: 900_000 }, 700, 900);
  expect(start.begin(901)).toBeNull();
});

it('all are looked at every five minutes, however long that takes', () => {
  pass(0, 60_000);
  expect(pass(359_999, 1)).toBeDefined();
  expect(pass(360_000, 1)).toBeUndefined();
});
