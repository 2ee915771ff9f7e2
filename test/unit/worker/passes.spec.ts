import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { SweptPage } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { ScanStart } from '../../../src/delay-queue/core/worker/scan-start.js';
import { ScanSize } from '../../../src/delay-queue/core/worker/scan-size.js';
import { FullNames, SkipAhead } from '../../../src/delay-queue/core/worker/skip-ahead.js';

const tooMuch = (): Promise<never> =>
  Promise.reject(Object.assign(new Error('timeout'), { code: '57014' }));

/** On the database's clock. */
const NOW_MS = 1_000_000;

const EMPTY: SweptPage = { wakes: [], cursor: null, oldestMs: null, nowMs: NOW_MS };

const EVERY_MS = 15_000;

describe('the size of a page', () => {
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
  it('what lies behind a crowd is fetched in the largest pages, and no larger than a statement may look', async () => {
    const size = new ScanSize();
    expect(size.largest).toEqual({ page: 2_000, scan: 10_000 });
    for (const scan of [10_000, 5_000, 2_500]) await size.runOrShrink(scan, tooMuch);
    expect(size.largest).toEqual({ page: 1_250, scan: 1_250 });
    size.begin(1);
    expect([size.scan, size.page]).toEqual([1_250, 125]);
  });
});

describe('where a pass begins', () => {
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
});

describe('a pass that skips ahead', () => {
  let nowMs: number;
  let queue: { hasRoomBehind: boolean; takes: number };
  let skipAhead: SkipAhead;
  beforeEach(() => {
    nowMs = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    queue = { hasRoomBehind: false, takes: 7 };
    skipAhead = new SkipAhead(queue);
  });
  afterEach(() => void jest.restoreAllMocks());
  const fetching = (tookMs: number): Promise<void> =>
    skipAhead.run(async () => {
      await Promise.resolve();
      nowMs += tookMs;
    });
  it('is due at once, and then as seldom as a pass comes, from its end on', async () => {
    expect(skipAhead.dueInMs(EVERY_MS)).toBeLessThanOrEqual(0);
    await fetching(300);
    expect(skipAhead.dueInMs(EVERY_MS)).toBe(EVERY_MS);
    nowMs += 1;
    expect(skipAhead.dueInMs(EVERY_MS)).toBe(EVERY_MS - 1);
  });
  it.each([
    ['ten times as long as it took', 300, 3_000],
    ['a second at least', 50, 1_000],
    ['no longer than passes are apart', 3_000, EVERY_MS],
  ])('where room and a run show that it pays it is due after %s', async (_, tookMs, dueInMs) => {
    await fetching(tookMs);
    queue.takes += 1;
    expect(skipAhead.dueInMs(EVERY_MS)).toBe(EVERY_MS);
    queue.hasRoomBehind = true;
    expect(skipAhead.dueInMs(EVERY_MS)).toBe(dueInMs);
    queue.takes -= 1;
    expect(skipAhead.dueInMs(EVERY_MS)).toBe(EVERY_MS);
  });
});

describe('names that are full', () => {
  it('a name or a group that had enough at any time of a walk gets nothing more of it', () => {
    let room: { butNotOf: string[] } | undefined;
    const enough = new FullNames({ roomFor: () => room });
    const answers = [{ butNotOf: ['big'] }, { butNotOf: ['other'] }, { butNotOf: [] }];
    const seen = answers.map((now) => {
      room = now;
      return enough.roomFor('a');
    });
    const both = { butNotOf: ['big', 'other'] };
    expect(seen).toEqual([{ butNotOf: ['big'] }, both, both]);
    expect(enough.roomFor('b')).toEqual({ butNotOf: [] });
    room = undefined;
    expect(enough.roomFor('b')).toBeUndefined();
    room = { butNotOf: [] };
    expect(['a', 'b'].map((name) => enough.roomFor(name))).toEqual([both, undefined]);
  });
});
