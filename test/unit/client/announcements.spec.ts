import { beforeEach, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Announcements } from '../../../src/delay-queue/core/client/announcements.js';
import type { Committed } from '../../../src/delay-queue/core/transactions/commit-hooks.js';

/** What waits for the commit. */
let waiting: Committed[];
let heard: unknown[][];
let events: DelayEvents;
let announcements: Announcements;

const TARGET = { name: 'a', key: 'k', group: 'g' };

const tells =
  (what: string) =>
  (...given: unknown[]): void =>
    void heard.push([what, ...given]);

beforeEach(() => {
  [waiting, heard] = [[], []];
  events = new DelayEvents();
  announcements = new Announcements(
    {
      afterCommit: {
        onCommit: (_: unknown, committed: Committed) => waiting.push(committed),
      } as never,
      announce: tells('announce'),
      disarm: tells('disarm'),
      pausesChanged: tells('pauses'),
      rerunAsked: tells('rerun'),
      hintInside: () => undefined,
    },
    events,
  );
});

/** @returns what the engine and the listener have heard of it */
function commit(certain: boolean): unknown[][] {
  for (const committed of waiting) committed(certain);
  return heard;
}

const placed = { verdict: 'scheduled', id: 1, epoch: 2, wakeMs: 3, nowMs: 4 } as never;
const cancelled = { verdict: 'cancelled', id: 1, epoch: null, wakeMs: null } as never;
const rerun = { verdict: 'rerun', id: 1, epoch: null, wakeMs: null } as never;

it.each([true, false])(
  'what was written is told of at the commit, and whether that is certain: %p',
  (certain) => {
    void announcements.announce(undefined, [{ delay: TARGET, placed, failed: true }]);
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
    const written = { databaseMs: 4, monotonicMs: expect.any(Number) };
    expect(commit(certain)).toEqual([['announce', wake, written, certain]]);
  },
);

it('what was not written is not told of', () => {
  void announcements.announce(undefined, [
    { delay: TARGET, placed: { ...(placed as object), wakeMs: null } as never },
  ]);
  void announcements.announce(undefined, [
    { delay: TARGET, placed: { ...(placed as object), epoch: null } as never },
  ]);
  expect(waiting).toEqual([]);
});

it('what was cancelled is forgotten when that is certain', () => {
  void announcements.announce(undefined, [{ delay: TARGET, placed: cancelled }]);
  expect(commit(false)).toEqual([]);
  expect(commit(true)).toEqual([['disarm', 1]]);
});

it('that a key is to run once more is told at once', () => {
  void announcements.announce(undefined, [{ delay: TARGET, placed: rerun }]);
  expect(commit(false)).toEqual([['rerun']]);
});

it('a listener hears of each write at its commit, and whether that is certain', () => {
  events.on('written', tells('written'));
  void announcements.announce(undefined, [{ delay: TARGET, placed: placed }]);
  void announcements.announce(undefined, [{ delay: TARGET, placed: cancelled }]);
  void announcements.announce(undefined, [{ delay: TARGET, placed: rerun }]);
  const written = { id: '1', name: 'a', key: 'k', wakeAt: null, certain: false };
  expect(commit(false).filter(([what]) => what === 'written')).toEqual([
    ['written', { ...written, verdict: 'scheduled', wakeAt: new Date(3) }],
    ['written', { ...written, verdict: 'cancelled' }],
    ['written', { ...written, verdict: 'rerun' }],
  ]);
});
