import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { SkipAhead } from '../../../src/delay-queue/worker/scanner.js';

const EVERY_MS = 15_000;

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
