import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Nodes } from '../../../src/delay-queue/core/cluster/nodes.js';
import { DatabaseClock } from '../../../src/delay-queue/core/database/database-clock.js';
import type { TimerQueue } from '../../../src/delay-queue/core/worker/timer-queue.js';
import { Loader, type LoaderParts } from '../../../src/delay-queue/core/worker/loader.js';
import type { NodeStore } from '../../../src/delay-queue/core/store/node.store.js';
import type {
  WakeCursor,
  LoadedPage,
  Shares,
  Wake,
} from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { Idle } from '../../../src/delay-queue/core/tasks/recurring-task.js';

const LOAD_EVERY_MS = 3_600_000;
const GRACE_MS = 5_000;
/** On the database's clock, when `performance.now()` is 0. */
const EPOCH_MS = 1_760_000_000_000;

/** One load of the store. */
interface Load {
  atMs: number;
  from: WakeCursor;
  limit: number;
  isPresent: boolean;
  peersWithinMs: number;
  names: readonly string[];
}

let loads: Load[];
/** What the next loads answer beside an empty page; when none is left, that. */
let pages: (Partial<LoadedPage> | Error)[];
let idleAnswers: (number | null)[];
let idleAsked: { forMs: number; atMs: number }[];
let room: number;
let offered: Wake[];
let isIntakeIdle: boolean;
/** The session by which this node is present, and how often it was asked about and missed. */
let present: { presentSession: object | undefined; asks: number; missed: object[] };
let nodes: Nodes;
let clock: DatabaseClock;
let idle: Idle;
let events: DelayEvents;
let loader: Loader;

const databaseMs = (): number => EPOCH_MS + performance.now();

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

const wakes = (count: number): Wake[] =>
  Array.from({ length: count }, (_, id) => ({ id, epoch: 1, wakeMs: databaseMs() }) as Wake);

function loaderThat(idleForMs: number | null): Loader {
  idle = new Idle(idleForMs);
  const store = {
    nodeName: 'node',
    load: async (shares: Shares, from: WakeCursor, { limit, isPresent, peersWithinMs }: Load) => {
      const asked = { from, limit, isPresent, peersWithinMs, names: shares.names };
      loads.push({ atMs: performance.now(), ...asked });
      const page = pages.shift();
      if (page instanceof Error) throw page;
      const now = { nowMs: databaseMs(), laterMs: databaseMs(), lastInstance: null };
      return { ...now, nodes: [], pauses: [], wakes: [], cursor: null, ...page };
    },
    idle: async (_: Shares, { forMs }: { forMs: number }) => {
      idleAsked.push({ forMs, atMs: performance.now() });
      return idleAnswers.shift() ?? null;
    },
  } as unknown as NodeStore;
  const queue = {
    get isIdle() {
      return isIntakeIdle;
    },
    offer: (wake: Wake) => {
      offered.push(wake);
      return (room -= 1) >= 0;
    },
  } as unknown as TimerQueue;
  const options = { horizonMs: 30_000, loadEveryMs: LOAD_EVERY_MS };
  const listener = {
    get presentSession() {
      return present.presentSession;
    },
    ask: async () => void (present.asks += 1),
    missed: (session: object) => void present.missed.push(session),
  };
  const aliveMs = LOAD_EVERY_MS * 3;
  const parts = { nodeStore: store, nodes, clock, options, aliveMs, queue, listener, idle, events };
  return new Loader(parts as unknown as LoaderParts);
}

const SESSION = {};

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [loads, pages, offered, idleAsked, idleAnswers] = [[], [], [], [], []];
  [room, isIntakeIdle, present] = [
    Infinity,
    true,
    { presentSession: SESSION, asks: 0, missed: [] },
  ];
  events = new DelayEvents();
  nodes = new Nodes('node', ['a', 'b']);
  clock = new DatabaseClock();
  loader = loaderThat(null);
});

afterEach(async () => {
  await loader.stop();
  jest.useRealTimers();
});

/** Joins and has loaded once, at 0. */
async function begun(): Promise<void> {
  await loader.join();
  loader.start();
  await pass(0);
}

const times = (): number[] => loads.map(({ atMs }) => atMs);

it('who is there is known when it has joined, and what time it is', async () => {
  pages = [{ nodes: [['other', ['a']]] }];
  await loader.join();
  expect([nodes.hasPeers, clock.toMonotonicMs(EPOCH_MS)]).toEqual([true, 0]);
  expect(loads).toMatchObject([{ limit: 0, peersWithinMs: 3 * LOAD_EVERY_MS }]);
});

it('another process of that name is noticed', async () => {
  const advice: string[] = [];
  events.on('advice', ({ message }) => advice.push(message));
  await begun();
  pages = [{ lastInstance: 'other' }, { lastInstance: 'other' }];
  await pass(2 * LOAD_EVERY_MS);
  expect(advice).toHaveLength(1);
});

describe('the next load comes', () => {
  it('when it is time for it', async () => {
    await begun();
    await pass(LOAD_EVERY_MS - 1);
    expect(times()).toEqual([0, 0]);
    await pass(1);
    expect(times()).toEqual([0, 0, LOAD_EVERY_MS]);
  });

  it('at the end of the first pause that ends', async () => {
    await loader.join();
    const first: LoadedPage['pauses'] = [
      ['a', '', EPOCH_MS + 60_000],
      ['b', 'g', EPOCH_MS + 20_000],
      ['b', 'h', null],
    ];
    // Read once more, with the new shares: each time that they are others.
    pages = [{ pauses: first }, { pauses: first }];
    loader.start();
    await pass(19_999);
    expect(loads).toHaveLength(3);
    pages = [{ pauses: first.slice(0, 1) }, { pauses: first.slice(0, 1) }];
    await pass(2);
    expect(times().slice(3)).toEqual([20_000, 20_001]);
    await pass(40_000);
    expect(times().slice(5)).toEqual([60_000, 60_001]);
  });

  it('at once when the clock has jumped, when the shares are others, and as often as one says', async () => {
    await begun();
    await pass(1_000);
    loader.runNow();
    await pass(0);
    expect(times().at(-1)).toBe(1_000);
    loader.loadEvery(500);
    await pass(500);
    expect(times().slice(-2)).toEqual([1_000, 1_500]);
  });

  it('at once when a node came or went: who is there is asked first', async () => {
    await begun();
    pages = [{ nodes: [['other', ['a']]] }, { nodes: [['other', ['a']]] }];
    loader.nodesChanged();
    await pass(0);
    expect(loads.slice(2).map(({ limit }) => limit > 0)).toEqual([false, true]);
    expect(nodes.hasPeers).toBe(true);
    await pass(LOAD_EVERY_MS);
    expect(loads.slice(4).every(({ limit }) => limit > 0)).toBe(true);
  });
});

describe('a load', () => {
  it('reads page after page while they are full, each from where the one before has ended', async () => {
    await begun();
    const { limit, from } = loads[1]!;
    const cursors = [1, 2].map((id) => ({ wakeMs: EPOCH_MS + 7, id }));
    pages = cursors.map((cursor) => ({ wakes: wakes(limit), cursor }));
    pages.push({ wakes: wakes(limit - 1), cursor: { wakeMs: EPOCH_MS + 8, id: 3 } });
    await pass(LOAD_EVERY_MS);
    expect(loads.slice(2).map((load) => load.from)).toEqual([
      { wakeMs: EPOCH_MS - GRACE_MS, id: 0 },
      ...cursors,
    ]);
    expect(from).toEqual({ wakeMs: EPOCH_MS - GRACE_MS, id: 0 });
    expect(offered).toHaveLength(limit * 3 - 1);
  });

  it('of several pages leaves to the next one what came while they were read', async () => {
    await begun();
    const { limit } = loads[1]!;
    // No more than two readings of a clock may be apart.
    const laterMs = EPOCH_MS + LOAD_EVERY_MS + 40;
    pages = [
      { wakes: wakes(limit), cursor: { wakeMs: EPOCH_MS, id: 1 } },
      { nowMs: laterMs, laterMs },
    ];
    await pass(2 * LOAD_EVERY_MS);
    expect(loads.at(-1)!.from.wakeMs).toBe(EPOCH_MS + LOAD_EVERY_MS - GRACE_MS);
  });

  it('begins a little before the one before it, and there again when that has failed', async () => {
    await begun();
    pages = [new Error('down')];
    await pass(LOAD_EVERY_MS + 100);
    expect(loads.slice(2).map(({ from }) => from.wakeMs)).toEqual([
      EPOCH_MS - GRACE_MS,
      EPOCH_MS - GRACE_MS,
    ]);
    const { atMs } = loads[3]!;
    await pass(LOAD_EVERY_MS);
    expect(loads[4]!.from.wakeMs).toBe(EPOCH_MS + atMs - GRACE_MS);
  });

  it('that was too large is followed by a smaller one at once', async () => {
    await begun();
    pages = [Object.assign(new Error('statement timeout'), { code: '57014' })];
    await pass(LOAD_EVERY_MS + 1);
    expect(loads.slice(2).map(({ limit }) => limit)).toEqual([5_000, 2_500]);
  });

  it('reads no further than there is room', async () => {
    await begun();
    const { limit } = loads[1]!;
    room = limit - 1;
    pages = [{ wakes: wakes(limit), cursor: { wakeMs: EPOCH_MS, id: 1 } }];
    await pass(LOAD_EVERY_MS);
    expect(loads).toHaveLength(3);
  });

  it('says whether this node is seen to live, and before it joins asks for nothing', async () => {
    present.presentSession = undefined;
    loader.onlyBeat();
    await begun();
    expect(loads).toMatchObject([
      { isPresent: false, limit: 0, names: [] },
      { isPresent: false, limit: 0, names: [] },
    ]);
  });
});

describe('with nothing to do', () => {
  beforeEach(() => {
    loader = loaderThat(24 * LOAD_EVERY_MS);
  });

  it('the node is idle for as long as it may be, and is not before it was calm for a whole pause', async () => {
    idleAnswers = [10 * LOAD_EVERY_MS];
    await begun();
    expect([idle.isOn, idleAsked]).toEqual([false, []]);
    await pass(LOAD_EVERY_MS);
    expect(idleAsked).toEqual([{ forMs: 24 * LOAD_EVERY_MS, atMs: LOAD_EVERY_MS }]);
    expect(idle.isOn).toBe(true);
    await pass(10 * LOAD_EVERY_MS - 1);
    expect(loads).toHaveLength(3);
    await pass(1);
    expect(loads).toHaveLength(4);
  });

  it('what comes up ends that at once', async () => {
    idleAnswers = [10 * LOAD_EVERY_MS];
    await begun();
    await pass(LOAD_EVERY_MS);
    await pass(1_000);
    idle.disturb();
    await pass(0);
    expect([idle.isOn, loads.length]).toEqual([false, 4]);
    await pass(LOAD_EVERY_MS);
    expect(loads).toHaveLength(5);
  });

  it('the node is idle until the first pause ends, and no longer', async () => {
    const pauses: LoadedPage['pauses'] = [['z', '', EPOCH_MS + 3 * LOAD_EVERY_MS]];
    await begun();
    pages = [{ pauses }, { pauses }, { pauses }];
    await pass(LOAD_EVERY_MS);
    expect(idleAsked.at(-1)).toEqual({ forMs: 2 * LOAD_EVERY_MS, atMs: LOAD_EVERY_MS });
  });

  it('the node is not idle while something is on its way here', async () => {
    isIntakeIdle = false;
    await begun();
    await pass(2 * LOAD_EVERY_MS);
    expect([idleAsked, loads.length]).toEqual([[], 4]);
  });
});

it('once it has stopped, no timer is left', async () => {
  await begun();
  await loader.stop();
  loader.nodesChanged();
  expect([jest.getTimerCount(), loads.length]).toEqual([0, 2]);
});

describe('the session by which this node is present', () => {
  it('is asked about with each load, and missed where the load was answered and its lock is not held', async () => {
    await begun();
    await pass(LOAD_EVERY_MS * 2);
    expect([present.asks, present.missed]).toEqual([3, []]);
    pages = [{ isHeld: true }, { isHeld: false }, { isHeld: null }];
    await pass(LOAD_EVERY_MS * 3);
    expect(present.missed).toEqual([SESSION]);
    present.presentSession = undefined;
    pages = [{ isHeld: false }];
    await pass(LOAD_EVERY_MS);
    expect(present.missed).toEqual([SESSION]);
  });
});
