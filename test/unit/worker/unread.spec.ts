import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { UnreadDelays } from '../../../src/delay-queue/worker/completer.js';

type PassOn = { id: number; epoch: number; waitMs: number | null };

/** What was asked for, and for how long a node counts as alive. */
let asked: PassOn[];
let alive: number[];
/** What no other node may read, and what is no longer this one's. */
let mine: Set<number>;
let gone: Set<number>;
let passed: unknown[];
let told: string[];
let unread: UnreadDelays;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'], now: 0 });
  jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
  [asked, alive, mine, gone, passed, told] = [[], [], new Set(), new Set(), [], []];
  const store = async (items: readonly PassOn[], aliveMs: number) => {
    asked.push(...items);
    alive.push(aliveMs);
    return items
      .filter(({ id }) => !gone.has(id))
      .map(({ id, epoch }) => ({
        id,
        epoch: epoch + 1,
        name: 'a',
        group: null,
        passed: !mine.has(id),
        wake_ms: 7,
      }));
  };
  unread = new UnreadDelays(
    { passOn: store } as never,
    1_000,
    { passed: (wake) => passed.push(wake) },
    {
      node: 'node',
      lookAt: async () => [],
      health: { failed: () => {}, worked: () => {}, pause: async () => {} },
      onProgress: () => {},
    },
  );
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

async function passOn(...ids: number[]): Promise<void> {
  for (const id of ids) unread.passOn({ id, epoch: 1 }, (result) => told.push(`${id} ${result}`));
  while (unread.batcher.size > 0) await new Promise(setImmediate);
}

const leaves = (id: number, epoch: number, refused?: boolean): boolean =>
  unread.leaves({ id, epoch, ...(refused !== undefined && { refused }) });

it('what is passed on is told of as others may take it, and what is not is this node’s', async () => {
  [mine, gone] = [new Set([2]), new Set([3])];
  await passOn(1, 2, 3);
  expect(told.toSorted()).toEqual(['1 passed', '2 refused', '3 gone']);
  expect(passed).toEqual([{ id: 1, epoch: 2, name: 'a', group: null, wakeMs: 7, stalled: false }]);
  expect(asked).toMatchObject([{ waitMs: null }, { waitMs: null }, { waitMs: null }]);
  expect(alive).toEqual([1_000]);
  expect([1, 2, 3].map((id) => leaves(id, 2))).toEqual([true, false, false]);
});

it('what is passed on is left to others for half a minute, as it is or as another one has refused it', async () => {
  await passOn(1);
  expect([leaves(1, 1), leaves(1, 2), leaves(1, 3, true)]).toEqual([false, true, true]);
  jest.advanceTimersByTime(29_999);
  expect(leaves(1, 2)).toBe(true);
  jest.advanceTimersByTime(1);
  expect(leaves(1, 2)).toBe(false);
});

it('what is passed on is any node’s when it is written anew, and when nodes come or go', async () => {
  await passOn(1, 2);
  expect([leaves(1, 3), leaves(1, 2)]).toEqual([false, false]);
  expect([leaves(2, 3, false), leaves(2, 2)]).toEqual([false, false]);
  await passOn(3);
  unread.forget();
  expect(leaves(3, 2)).toBe(false);
});

it('so many are remembered, and of what is beyond the row itself waits', async () => {
  await passOn(...Array.from({ length: 50_000 }, (_, id) => id));
  expect(asked.every(({ waitMs }) => waitMs === null)).toBe(true);
  await passOn(60_000);
  expect([asked.at(-1)?.waitMs, leaves(60_000, 2), passed.length]).toEqual([30_000, false, 50_001]);
  // One that is passed on again is the youngest.
  await passOn(1);
  jest.advanceTimersByTime(30_000);
  await passOn(70_000);
  expect([asked.at(-1)?.waitMs, leaves(70_000, 2)]).toEqual([null, true]);
});
