import { beforeEach, expect, it } from '@jest/globals';
import { Announcements } from '../../../src/delay-queue/client/writes.js';
import type { Committed } from '../../../src/delay-queue/transactions/commit-hooks.js';

/** What waits for the commit. */
let waiting: Committed[];
let heard: unknown[][];
let announcements: Announcements;

const TARGET = { name: 'a', key: 'k', group: 'g' };

const tells =
  (what: string) =>
  (...given: unknown[]): void =>
    void heard.push([what, ...given]);

const announcing = (isOn: boolean): Announcements =>
  new Announcements(
    {
      onCommit: (_: unknown, committed: Committed) => waiting.push(committed),
    } as never,
    {
      announce: tells('announce'),
      disarm: tells('disarm'),
      pausesChanged: tells('pauses'),
      rerunAsked: tells('rerun'),
    },
    { isOn, follows: (name) => name === 'a', committed: tells('traced') },
  );

beforeEach(() => {
  [waiting, heard] = [[], []];
  announcements = announcing(false);
});

/** @returns what the engine, and the trace, have heard of it */
function commit(certain: boolean): unknown[][] {
  for (const committed of waiting) committed(certain);
  return heard;
}

const placed = { verdict: 'scheduled', id: 1, epoch: 2, wakeMs: 3, nowMs: 4 } as never;

it.each([true, false])(
  'what was written is told of at the commit, and whether that is certain: %p',
  (certain) => {
    announcements.written(undefined, TARGET, placed, { failed: true, answeredAtMs: 5 });
    expect(heard).toEqual([]);
    const wake = {
      id: 1,
      epoch: 2,
      name: 'a',
      group: 'g',
      wakeMs: 3,
      stalled: false,
      failed: true,
    };
    const written = { databaseMs: 4, monotonicMs: 5 };
    expect(commit(certain)).toEqual([['announce', wake, written, certain]]);
  },
);

it('what was not written is not told of', () => {
  announcements.written(undefined, TARGET, { ...(placed as object), wakeMs: null } as never);
  announcements.written(undefined, TARGET, { ...(placed as object), epoch: null } as never);
  expect(waiting).toEqual([]);
});

it('what was cancelled is forgotten when that is certain', () => {
  announcements.cancelled(undefined, TARGET, 1);
  expect(commit(false)).toEqual([]);
  expect(commit(true)).toEqual([['disarm', 1]]);
});

it('that a key is to run once more is told at once', () => {
  announcements.rerun(undefined, TARGET, 1);
  expect(commit(false)).toEqual([['rerun']]);
});

it('a trace hears of what it follows, and of nothing else', () => {
  announcements = announcing(true);
  announcements.cancelled(undefined, { name: 'b', key: null }, 2);
  announcements.cancelled(undefined, TARGET, 1);
  expect(commit(true)).toEqual([
    ['disarm', 2],
    ['disarm', 1],
    ['traced', { name: 'a', key: 'k', id: 1, verdict: 'cancelled', wakeMs: null, certain: true }],
  ]);
});
