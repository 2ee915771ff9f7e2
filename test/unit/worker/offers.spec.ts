import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ResolvedOptions } from '../../../src/delay-queue/core/config/options.js';
import { DatabaseClock } from '../../../src/delay-queue/core/database/database-clock.js';
import type { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import type { Nodes } from '../../../src/delay-queue/core/cluster/nodes.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import { type QueuePort, TimerQueue } from '../../../src/delay-queue/core/worker/timer-queue.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { nameStates } from '../../support/name-states.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';

/** The database's clock is behind the monotonic one by so much. */
const BEHIND_MS = 1_000_000;
const MAX = 20;

let wheel: WheelService;
let clock: DatabaseClock;
let due: Job[];
let told: number[][];
let jobs: Jobs;
let queue: TimerQueue;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'clearImmediate'], now: 0 });
  jest.spyOn(performance, 'now').mockImplementation(() => BEHIND_MS + Date.now());
  wheel = new WheelService();
  clock = new DatabaseClock();
  clock.sample(0, 0, -BEHIND_MS);
  due = [];
  told = [];
  queue = open();
});

afterEach(() => {
  queue.close();
  wheel.onApplicationShutdown();
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** A queue from which everything that is due is taken at once. */
function open(entriesMax = MAX, onDue = () => {}): TimerQueue {
  jobs = new Jobs();
  const nodes = { mayRun: () => true } as unknown as Nodes;
  const options = { horizonMs: 0 } as ResolvedOptions;
  const parts = { wheel, clock, nodes, jobs, names: nameStates(), options, claimBatch: 3_000 };
  const to: QueuePort = {
    due: () => {
      const taken: Job[] = [];
      opened.take((entry) => (taken.push(entry) > 0 ? 'yes' : 'no'), true);
      due.push(...taken);
      told.push(taken.map(({ id }) => id));
      onDue();
    },
    unreadable: () => {},
    giveBack: () => {},
  };
  const opened = new TimerQueue(parts, to, entriesMax);
  opened.open();
  return opened;
}

const wake = (id: number, wakeMs: number, epoch = 0): Wake => ({
  id,
  epoch,
  name: 'a',
  group: null,
  wakeMs,
  stalled: false,
  failed: false,
});

const read = (...of: Parameters<typeof wake>): boolean => queue.offer(wake(...of), 'confirmed');
const hear = (...of: Parameters<typeof wake>): boolean => queue.offer(wake(...of), 'hinted');

const readMany = (from: number, to: number): boolean[] =>
  Array.from({ length: to - from + 1 }, (_, n) => read(from + n, 1_000));

/** On the database's clock. */
const passTo = async (nowMs: number): Promise<void> => {
  jest.advanceTimersByTime(nowMs - Date.now());
  await turn();
};

/** One that is due, and whose claim is on its way. */
async function claiming(): Promise<Job> {
  read(1, 10);
  await passTo(10);
  return due[0]!;
}

const orphan = (...of: Parameters<typeof wake>): boolean =>
  queue.offer({ ...wake(...of), orphaned: true }, 'confirmed');

describe('an id', () => {
  it.each<[string, () => unknown, dueMs: number]>([
    ['an older epoch changes nothing', () => [read(1, 100, 2), read(1, 10, 1)], 100],
    ['a newer epoch wins', () => [read(1, 100, 2), read(1, 300, 3)], 300],
    ['of one epoch the newest time wins', () => [read(1, 100, 2), read(1, 60, 2)], 60],
    [
      'without its process it keeps its time, whatever pages say of its lease',
      () => [read(1, 500, 2), orphan(1, 100, 2), read(1, 500, 2), orphan(1, 300, 2)],
      100,
    ],
    ['what is told puts nothing off', () => [read(1, 100, 2), hear(1, 500, 7)], 100],
    ['what is told of an older epoch is nothing', () => [read(1, 100, 2), hear(1, 90, 1)], 100],
    ['what is told brings it forward', () => [read(1, 100, 2), hear(1, 50, 3)], 50],
    ['and not back', () => [read(1, 100, 2), hear(1, 50, 3), hear(1, 60, 4)], 50],
    ['an older row puts off nothing', () => [hear(1, 100, 7), read(1, 200, 5)], 100],
    ['an older row may bring it forward', () => [hear(1, 100, 7), read(1, 80, 5)], 80],
    [
      'what is told of the same time is no news',
      () => [read(1, 100, 2), hear(1, 100, 3), read(1, 90, 1)],
      100,
    ],
    ['a row has the last word', () => [hear(1, 100, 7), read(1, 300, 7), read(1, 10, 6)], 300],
  ])('is looked at once: %s', async (_, arm, dueMs) => {
    arm();
    await passTo(dueMs - 1);
    expect(due).toEqual([]);
    await passTo(1_000);
    expect(due).toMatchObject([{ id: 1, wakeMs: dueMs }]);
  });

  it('is left alone while its claim is under way', async () => {
    const entry = await claiming();
    expect(read(1, 10, 5)).toBe(true);
    queue.disarm(1);
    expect(jobs.watched(1)?.state).toBe('claiming');
    await passTo(1_000);
    expect(due).toEqual([entry]);
    expect(entry.state).toBe('claiming');
  });

  it('has heard of a later epoch meanwhile, and knows it when its claim has missed', async () => {
    const entry = await claiming();
    hear(1, 70, 1);
    read(1, 10, 0);
    queue.again(entry, 1_000_000, 1_000_000);
    expect(entry.state).toBe('gone');
    await passTo(70);
    expect(due).toMatchObject([{}, { id: 1, epoch: 1 }]);
  });

  it('has heard of a later epoch meanwhile, and knows it when its row is claimed or gone', async () => {
    const entry = await claiming();
    read(1, 70, 1);
    queue.forget(entry);
    await passTo(70);
    expect(due).toMatchObject([{}, { id: 1, epoch: 1 }]);
  });

  it.each([
    ['of its own claim meanwhile, which is over before that wake', 1, 0],
    ['after its claim meanwhile, and is watched beside it', 2, 1],
  ])('has heard of the epoch %s', async (_, epoch, watched) => {
    const entry = await claiming();
    read(1, 70, epoch);
    queue.claimed(entry, { id: 1, epoch: 1 } as Attempt);
    // As when it is heard of after the answer.
    read(1, 70, epoch);
    expect([jobs.watchedCount, jobs.runningCount]).toEqual([watched, 1]);
    await passTo(70);
    expect(due).toHaveLength(1 + watched);
  });

  it('that was claimed in vain is looked at again, when that is over', async () => {
    const entry = await claiming();
    queue.again(entry, 100);
    await passTo(109);
    expect(due).toHaveLength(1);
    await passTo(110);
    expect(due).toEqual([entry, entry]);
    queue.again(entry, 100);
    clock.sample(0, 0, 50 - BEHIND_MS);
    queue.realign();
    await passTo(111);
    expect(due).toHaveLength(3);
  });

  it('has its process again, when its row was looked at', async () => {
    orphan(1, 0);
    await passTo(1);
    queue.again(due[0]!, 499, 500);
    read(1, 700);
    await passTo(699);
    expect(due).toHaveLength(1);
    await passTo(700);
    expect(due).toHaveLength(2);
  });

  it('is what its row said when it was looked at, whatever was told before', async () => {
    hear(1, 0, 7);
    await passTo(1);
    queue.again(due[0]!, 499, 500);
    hear(1, 600, 8);
    read(1, 300, 6);
    // What no walk has brought has the number of none.
    expect(due[0]).toMatchObject({ state: 'wheel', wakeMs: 500, scanNo: 0 });
    hear(1, 400, 8);
    await passTo(400);
    expect(due).toHaveLength(2);
  });
});

describe('its room', () => {
  it('is for what is only told to a tenth, which lets nothing go', async () => {
    expect(readMany(1, 10)).not.toContain(false);
    expect([hear(101, 1), hear(102, 1)]).toEqual([true, true]);
    // Room for it there is, but not for what anybody says.
    expect([hear(103, 1), hear(2, 1)]).toEqual([false, false]);
    queue.disarm(101);
    expect(hear(103, 1)).toBe(true);
    // A row that says the same is no hearsay any more, however often it says so.
    expect([read(103, 1), read(103, 1)]).toEqual([true, true]);
    expect([hear(104, 1), hear(106, 1)]).toEqual([true, false]);
    expect(readMany(11, 17)).not.toContain(false);
    queue.disarm(102);
    expect(read(18, 1_000)).toBe(true);
    // All is full: a row finds room at the cost of the farthest, hearsay does not.
    expect([hear(105, 1), read(19, 500)]).toEqual([false, true]);
    await passTo(1_000);
    expect(due).toHaveLength(MAX);
  });

  it('when full, is for the nearest', async () => {
    queue = open(3);
    for (const id of [1, 2, 3]) read(id, id * 100);
    expect([read(4, 400), read(5, 50)]).toEqual([false, true]);
    queue.disarm(1);
    expect(read(3, 300)).toBe(true);
    await passTo(1_000);
    expect(told.flat()).toEqual([5, 2, 3]);
  });
});

describe('what is overdue', () => {
  it('is told of in the next turn, all at once, in the order of wakes', async () => {
    for (const id of [3, 1, 5, 2, 4]) expect(read(id, id - 1_000)).toBe(true);
    queue.disarm(5);
    read(4, -2_000, 1);
    expect(read(7, 0)).toBe(true);
    expect(told).toEqual([]);
    await turn();
    expect(told).toEqual([[4, 1, 2, 3, 7]]);
    read(6, 0);
    queue.close();
    await turn();
    expect(told).toHaveLength(1);
  });

  it('is told of in one order with what fell due in the wheel', async () => {
    queue = open(3_000);
    // More than the wheel lets expire in one turn. The even ones fall due in it, and nothing wakes it.
    const ids = Array.from({ length: 2_500 }, (_, id) => id);
    for (const id of ids.filter((each) => each % 2 === 0)) read(id, 60_000 + id);
    jest.setSystemTime(120_000);
    for (const id of ids.filter((each) => each % 2 === 1).toReversed()) read(id, 60_000 + id);
    for (let turns = 0; turns < 4; turns += 1) await turn();
    expect(told.flat()).toEqual(ids);
  });

  it('is nobody’s of whoever announced it, whose AsyncLocalStorage is not lent', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    queue = open(MAX, () => void seen.push(storage.getStore()));
    storage.run('a request', () => read(1, 0));
    await turn();
    expect(seen).toEqual([undefined]);
  });
});

it('all deadlines are worked out anew when the database’s clock has jumped', async () => {
  read(1, 1_000_000);
  clock.jumped.on(() => queue.realign());
  // It is ahead by 900,000 ms all of a sudden.
  clock.sample(0, 0, 900_000 - BEHIND_MS);
  await passTo(99_999);
  expect(due).toEqual([]);
  await passTo(100_000);
  expect(due).toMatchObject([{ id: 1 }]);
});

it('tells when nothing is left of it, and takes nothing more once it is closed', async () => {
  let empties = 0;
  const wait = async (): Promise<void> => {
    await queue.whenEmpty();
    empties += 1;
  };
  for (const id of [1, 2]) read(id, 100);
  void wait();
  queue.disarm(1);
  await turn();
  expect([queue.isEmpty, empties]).toEqual([false, 0]);
  queue.disarm(2);
  await turn();
  expect([queue.isEmpty, empties]).toEqual([true, 1]);
  read(3, 100);
  void wait();
  queue.close();
  await turn();
  expect([queue.isEmpty, empties]).toEqual([true, 2]);
  read(4, 200);
  expect(queue.isEmpty).toBe(true);
});
