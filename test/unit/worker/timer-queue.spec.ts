import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ResolvedOptions } from '../../../src/delay-queue/core/config/options.js';
import { Nodes } from '../../../src/delay-queue/core/cluster/nodes.js';
import { DatabaseClock } from '../../../src/delay-queue/core/database/database-clock.js';
import { Announcer } from '../../../src/delay-queue/core/worker/announcer.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import { TimerQueue } from '../../../src/delay-queue/core/worker/timer-queue.js';
import type { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import { nameStates } from '../../support/name-states.js';
import type { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { WheelService } from '../../../src/delay-queue/core/timer-wheel/wheel.service.js';

const HORIZON_MS = 1_000;
/** More of one name do not wait. */
const NAME_MAX = 10_000;

let jobs: Jobs;
/** What was told of, or asked for, in order. */
let told: unknown[];
let wheel: WheelService;
let clock: DatabaseClock;
let nodes: Nodes;
let names: NameStates;
let queue: TimerQueue;
/** Before anything opened it. */
let wasOpen: boolean;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'clearImmediate'], now: 0 });
  jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
  [jobs, told] = [new Jobs(), []];
  [wheel, clock, nodes] = [new WheelService(), new DatabaseClock(), new Nodes('self', ['a', 'b'])];
  clock.sample(0, 0, 0);
  const options = { horizonMs: HORIZON_MS } as ResolvedOptions;
  names = nameStates();
  queue = new TimerQueue(
    { wheel, clock, nodes, jobs, names, options, claimBatch: 2 },
    {
      due: () => told.push('ready'),
      unreadable: (id) => told.push(['unreadable', id]),
      giveBack: (...claim) => told.push(['give back', ...claim]),
    },
  );
  nodes.changed.on(() => queue.leaveToOthers());
  wasOpen = queue.isOpen;
  queue.open();
});

afterEach(() => {
  queue.close();
  wheel.onApplicationShutdown();
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const wake = (id: number, more: Partial<Wake> = {}): Wake => ({
  id,
  epoch: 0,
  name: 'a',
  group: null,
  wakeMs: 0,
  stalled: false,
  failed: false,
  ...more,
});

const attempt = (id: number): Attempt => ({ id, epoch: 0, name: 'a' }) as Attempt;

const offer = (id: number, more?: Partial<Wake>): boolean =>
  queue.offer(wake(id, more), 'confirmed');

async function passTo(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms - Date.now());
  await turn();
}

/** All that one claim may have. */
function take(): Job[] {
  const taken: Job[] = [];
  queue.take((entry) => (taken.push(entry) > 0 ? 'yes' : 'no'), true);
  return taken;
}

/** Until nothing is left. */
function takeAll(): number[] {
  const ids: number[] = [];
  for (let some = take(); some.length > 0; some = take()) {
    for (const entry of some) {
      ids.push(entry.id);
      queue.forget(entry);
    }
  }
  return ids;
}

describe('what is offered', () => {
  it('counts while it is open alone', async () => {
    expect([wasOpen, queue.isOpen, queue.isIdle, queue.hasRoom]).toEqual([false, true, true, true]);
    queue.shut();
    expect([queue.isOpen, queue.isIdle, queue.hasRoom]).toEqual([false, false, false]);
    expect(queue.roomFor('a')).toBeUndefined();
    expect(offer(1)).toBe(true);
    await passTo(1);
    expect([told, queue.isEmpty]).toEqual([[], true]);
  });

  it.each<[string, () => unknown]>([
    ['has no handler here', () => offer(1, { name: 'c' })],
    ['is paused', () => [nodes.update([], [['a', '', null]]), offer(1)]],
    [
      'is of a group that is paused',
      () => [nodes.update([], [['a', 'g', null]]), offer(1, { group: 'g' })],
    ],
    ['runs here', () => [jobs.adopt(attempt(1)), offer(1)]],
    ['ran here, and that is not written yet', () => [jobs.ended(attempt(1)), offer(1)]],
    ['could not be read here', () => [jobs.leave(1, 0, 1_000), offer(1)]],
  ])('is left alone when it %s', (_, act) => {
    expect([act()].flat().at(-1)).toBe(true);
    expect(queue.isEmpty).toBe(true);
  });

  it.each<[string, Partial<Wake>]>([
    ['an id', { id: 2 ** 53 }],
    ['an epoch', { epoch: 2 ** 53 }],
    ['an epoch', { epoch: -1 }],
  ])('cannot be named by %s like that: %j', (_, odd) => {
    expect(offer(1, odd)).toBe(true);
    expect([told, queue.isEmpty]).toEqual([[['unreadable', odd.id ?? 1]], true]);
  });

  it('is given back when its claim was lost, once, and not while another claim of it is on its way', async () => {
    offer(1, { epoch: 4 });
    await passTo(0);
    jobs.lose(1, 5);
    const [entry] = take() as [Job];
    offer(1, { epoch: 5 });
    expect(told).toEqual(['ready']);
    entry.later = undefined;
    queue.forget(entry);
    offer(1, { epoch: 5 });
    expect([told, queue.isEmpty]).toEqual([['ready', ['give back', 1, 5]], true]);
    offer(1, { epoch: 5 });
    expect([told.length, queue.isEmpty]).toEqual([2, false]);
  });

  it('after an attempt is known at once when it is near, and left to a load when it is not', async () => {
    queue.offerIfNear(wake(1, { wakeMs: HORIZON_MS + 1 }));
    expect(queue.isEmpty).toBe(true);
    queue.offerIfNear(wake(1, { wakeMs: HORIZON_MS }));
    expect(queue.isEmpty).toBe(false);
    await passTo(HORIZON_MS);
    expect(takeAll()).toEqual([1]);
  });
});

describe('room', () => {
  it('there is for two claims, and behind what waits for limits', async () => {
    for (const id of [1, 2, 3]) offer(id);
    await passTo(0);
    expect([queue.hasRoom, queue.hasRoomBehind, names.of('a').due]).toEqual([true, false, 3]);
    offer(4, { stalled: true });
    await passTo(1);
    expect([queue.hasRoom, names.of('a').due, names.of('a').stalledDue]).toEqual([false, 3, 1]);
    expect(told).toEqual(['ready', 'ready']);
    expect([queue.roomFor('a'), queue.roomFor('b')]).toEqual([undefined, { butNotOf: [] }]);
    takeAll();
    expect([queue.hasRoomBehind, queue.takes]).toEqual([true, 3]);
    expect(queue.isEmpty).toBe(true);
  });

  it('is told of as missing when a line is full, once in a turn, and what is left out is forgotten', async () => {
    for (let id = 1; id <= NAME_MAX + 2; id += 1) offer(id);
    await passTo(0);
    expect([told, queue.overflows]).toEqual([['ready'], 2]);
    expect(names.of('a').due).toBe(NAME_MAX);
    queue.disarm(1);
    expect(offer(NAME_MAX + 1)).toBe(true);
    await passTo(1);
    expect([told, queue.overflows]).toEqual([['ready', 'ready'], 3]);
  });
});

it('there is room behind for less than a claim, and a group that waited for its limit has its turn again', async () => {
  for (const id of [1, 2]) offer(id, { group: 'g' });
  await passTo(0);
  expect(queue.hasRoomBehind).toBe(false);
  queue.take(() => 'group throttled', true);
  expect([queue.hasRoomBehind, takeAll()]).toEqual([true, []]);
  queue.ready.release('a', 'g');
  expect([queue.hasRoomBehind, takeAll()]).toEqual([false, [1, 2]]);
});

describe('what was taken', () => {
  it('and has to wait is the first again, in its order', async () => {
    for (const id of [1, 2, 3]) offer(id);
    await passTo(0);
    queue.putBack(take());
    expect(takeAll()).toEqual([1, 2, 3]);
  });

  it('and is paused meanwhile, or has moved, is not put back', async () => {
    for (const id of [1, 2]) offer(id, { name: id === 1 ? 'b' : 'a' });
    await passTo(0);
    const entries = take().toSorted((a, b) => a.id - b.id);
    offer(2, { epoch: 1, wakeMs: 500 });
    nodes.update([], [['b', '', null]]);
    queue.putBack(entries);
    expect(takeAll()).toEqual([]);
    await passTo(500);
    expect(takeAll()).toEqual([2]);
  });
});

it('what others look after from now on is left to them, and what waited for readers is forgotten', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => index + 1);
  for (const id of ids) offer(id);
  await passTo(0);
  nodes.update([['other', ['a']]]);
  const owned = ids.filter((id) => nodes.owns(id, 'a'));
  expect(owned.length).toBeLessThan(20);
  expect(told).toEqual(['ready']);
  expect(takeAll()).toEqual(owned);
  expect(queue.isEmpty).toBe(true);
});

it('what waits of a group is left out when that is paused', async () => {
  offer(1, { group: 'g' });
  offer(2, { group: 'h' });
  await passTo(0);
  nodes.update([], [['a', 'g', null]]);
  expect(takeAll()).toEqual([2]);
  expect(queue.isEmpty).toBe(true);
});

it('what became paused between its wake and its turn is forgotten, and that is no overflow', async () => {
  offer(1, { wakeMs: 10 });
  nodes.update([], [['a', '', null]]);
  await passTo(10);
  expect([told, queue.overflows]).toEqual([['ready'], 0]);
  expect(queue.isEmpty).toBe(true);
});

it('says when it is empty, and is idle when nothing runs either', async () => {
  const runs = attempt(7);
  jobs.adopt(runs);
  expect(queue.isIdle).toBe(false);
  jobs.written(runs);
  await queue.whenEmpty();
  offer(1, { wakeMs: 500 });
  expect(queue.isIdle).toBe(false);
  let isEmpty = false;
  const emptied = queue.whenEmpty().then(() => (isEmpty = true));
  await turn();
  expect(isEmpty).toBe(false);
  queue.close();
  await emptied;
  expect([queue.isOpen, queue.isEmpty]).toEqual([false, true]);
});

describe('a committed write', () => {
  const AHEAD_MS = 10_000;

  beforeEach(() => jest.setSystemTime(500));

  /** Where a write goes that is due in so many milliseconds, on a node that is idle for so long at most. */
  function placesOf(inMs: number, idleForMs: number | null, isOwn = true, tookMs = 0): string[] {
    const places: string[] = [];
    jest.spyOn(nodes, 'owns').mockReturnValue(isOwn);
    const notifier = { send: () => places.push('others') };
    const announcer = new Announcer(
      { nodes, notifier, options: { horizonMs: HORIZON_MS, idleForMs } } as never,
      {
        queue: { offer: (_: Wake, source: string) => places.push(`here, ${source}`) },
        idle: { disturb: () => places.push('disturbs') },
      } as never,
    );
    const databaseMs = 1_000_000;
    const monotonicMs = performance.now() - tookMs;
    announcer.announce(
      wake(1, { wakeMs: databaseMs + inMs }),
      { databaseMs, monotonicMs },
      'hinted',
    );
    return places;
  }

  it('of a node that runs nothing is told to others', () => {
    const sent: Wake[] = [];
    const notifier = { send: (of: Wake) => sent.push(of) } as never;
    jest.spyOn(nodes, 'owns').mockReturnValue(false);
    const options = { horizonMs: HORIZON_MS, idleForMs: null } as ResolvedOptions;
    const announcer = new Announcer({ nodes, notifier, options }, undefined);
    const written = { databaseMs: 1_000, monotonicMs: performance.now() };
    announcer.announce(wake(1, { wakeMs: 1_000 }), written, 'confirmed');
    expect(sent).toHaveLength(1);
  });

  it.each<[string, of: Parameters<typeof placesOf>, places: string[]]>([
    ['of this node goes into its wheel', [HORIZON_MS, null], ['here, hinted']],
    ['that is due later is left to a load', [HORIZON_MS + 1, null], []],
    [
      'of a slow transaction is as near as it is by then',
      [HORIZON_MS + 1, null, true, 1],
      ['here, hinted'],
    ],
    ['of another node is told to it', [HORIZON_MS, null, false], ['others']],
    ['of another node that is due later is not', [HORIZON_MS + 1, null, false], []],
    [
      'is told to others that may be idle, as far ahead as they are',
      [AHEAD_MS, AHEAD_MS],
      ['others'],
    ],
    ['beyond that it is not', [AHEAD_MS + 1, AHEAD_MS], []],
    [
      'within the horizon it is, also with a shorter idleness',
      [HORIZON_MS, 1],
      ['here, hinted', 'others'],
    ],
  ])('%s', (_, of, places) => {
    expect(placesOf(...of)).toEqual(['disturbs', ...places]);
  });
});
