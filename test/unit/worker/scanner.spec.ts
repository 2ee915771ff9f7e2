import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Idle } from '../../../src/delay-queue/core/tasks/recurring-task.js';
import type { HintListener } from '../../../src/delay-queue/core/cluster/listener.js';
import type { ResolvedOptions } from '../../../src/delay-queue/core/config/options.js';
import { Nodes } from '../../../src/delay-queue/core/cluster/nodes.js';
import type { TimerQueue } from '../../../src/delay-queue/core/worker/timer-queue.js';
import { Scanner } from '../../../src/delay-queue/core/worker/scanner.js';
import type { NodeStore } from '../../../src/delay-queue/core/store/node.store.js';
import type {
  WakeCursor,
  Shares,
  SweptPage,
  Wake,
} from '../../../src/delay-queue/core/store/rows/delay-rows.js';

/** One page that was asked for. */
interface Sweep {
  atMs: number;
  from: WakeCursor | null;
  help: number | null;
  names: readonly string[];
  leftOut: readonly string[];
  limit: number;
  scan: number;
}

let sweeps: Sweep[];
/** What the next pages bring; when none is left, nothing is overdue. */
let pages: (Partial<SweptPage> | Error)[];
/** While the next page is on its way. */
let meanwhile: () => void;
let offered: [id: number, walk: number][];
let nodes: Nodes;
/** What the queue says of itself. */
let queue: { hasRoom: boolean; hasRoomBehind: boolean; takes: number };
/** Names, or their groups, that have enough. */
let enough: Map<string, string[] | 'all'>;
let overflows: number;
let scanner: Scanner;

const OVERDUE = { oldestMs: 1 };
const at = (id: number): WakeCursor => ({ wakeMs: 1_000, id });
const wake = (id: number): Wake => ({ id, epoch: 1 }) as Wake;

/** Between pages it lets a turn of the event loop pass. */
async function turns(): Promise<void> {
  for (let n = 0; n < 10; n += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await jest.advanceTimersByTimeAsync(0);
  }
}

async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await turns();
}

function scannerThat(leaseMs: number): Scanner {
  const store = {
    sweep: async (
      { names, leftOut }: Shares,
      from: WakeCursor | null,
      {
        helpAfterMs: help,
        limit,
        scan,
      }: { helpAfterMs: number | null } & Pick<Sweep, 'limit' | 'scan'>,
    ): Promise<SweptPage> => {
      sweeps.push({ atMs: performance.now(), from, help, names, leftOut, limit, scan });
      await Promise.resolve();
      meanwhile();
      meanwhile = () => {};
      const page = pages.shift();
      if (page instanceof Error) throw page;
      return { wakes: [], cursor: null, oldestMs: null, nowMs: 2_000_000, ...page };
    },
  } as unknown as NodeStore;
  const of = {
    get overflows() {
      return overflows;
    },
    get hasRoom() {
      return queue.hasRoom;
    },
    get hasRoomBehind() {
      return queue.hasRoomBehind;
    },
    get takes() {
      return queue.takes;
    },
    roomFor: (name: string) => {
      const full = enough.get(name) ?? [];
      return full === 'all' ? undefined : { butNotOf: full };
    },
    offer: ({ id }: Wake, _: string, walk: number) => void offered.push([id, walk]),
  } as unknown as TimerQueue;
  return new Scanner({
    nodeStore: store,
    nodes,
    options: { leaseMs } as ResolvedOptions,
    queue: of,
    listener: { processLock: { number: '7' } } as HintListener,
    events: new DelayEvents(),
    idle: new Idle(null),
  });
}

beforeEach(() => {
  jest.useFakeTimers({ now: 0, doNotFake: ['setImmediate', 'clearImmediate', 'nextTick'] });
  [sweeps, pages, offered, enough] = [[], [], [], new Map()];
  meanwhile = () => {};
  queue = { hasRoom: true, hasRoomBehind: false, takes: 0 };
  [overflows, nodes] = [0, new Nodes('node', ['a', 'b'])];
});

afterEach(async () => {
  await scanner.stop();
  jest.useRealTimers();
});

const withPeers = (): void => void nodes.update([['other', ['a', 'b']]]);

async function start(leaseMs: number): Promise<void> {
  scanner = scannerThat(leaseMs);
  nodes.changed.on(() => scanner.restart());
  scanner.start();
  // A pause of none takes a timer of its own.
  await pass(1);
}

/** Since the first one. */
const told = (): [afterMs: number, from: number | undefined, help: number | null][] =>
  sweeps.map(({ atMs, from, help }) => [atMs - sweeps[0]!.atMs, from?.id, help]);

describe('a node alone', () => {
  it('passes over all twice in a lease, and every 15 s at least', async () => {
    await start(8_000);
    await pass(5_000);
    expect(told().map(([ms]) => ms)).toEqual([0, 4_000]);
    await scanner.stop();
    sweeps = [];
    await start(3_600_000);
    await pass(16_000);
    expect(told().map(([ms]) => ms)).toEqual([0, 15_000]);
  });

  it('goes on where a page has ended, to the end, and helps no one', async () => {
    pages = [
      { cursor: at(1), wakes: [wake(1)] },
      { cursor: at(2), wakes: [wake(2)] },
      { wakes: [wake(3)], ...OVERDUE },
    ];
    await start(8_000);
    expect(told().map(([, from]) => from)).toEqual([undefined, 1, 2]);
    await pass(2_000);
    expect(sweeps.map(({ limit }) => limit)).toEqual([125, 250, 500]);
    expect(offered.map(([id]) => id)).toEqual([1, 2, 3]);
    expect(new Set(offered.map(([, walk]) => walk)).size).toBe(1);
  });
});

it('a pass that was slow is followed by one that begins at the oldest row', async () => {
  meanwhile = () => jest.advanceTimersByTime(200);
  pages = [{ oldestMs: 1_000 }];
  await start(8_000);
  await pass(4_000);
  expect(sweeps[1]!.from).toEqual({ wakeMs: 999, id: 0 });
});

it('a pass that has left something out begins anew at its end', async () => {
  meanwhile = () => {
    overflows += 1;
  };
  await start(8_000);
  expect(told()).toEqual([
    [0, undefined, null],
    [0, undefined, null],
  ]);
});

describe('a node among others', () => {
  beforeEach(withPeers);

  it('gives them a moment at the start, and passes every 5 s at least', async () => {
    await start(3_600_000);
    await pass(198);
    expect(sweeps).toEqual([]);
    await pass(2);
    await pass(6_000);
    expect(told().map(([ms]) => ms)).toEqual([0, 5_000]);
  });

  // Twice in such a lease is sooner than a second: the wait for that is no part of the pass.
  it.each([1_000, 60_000])(
    'helps a second after its own pass has seen something overdue, with leases of %d ms',
    async (leaseMs) => {
      pages = [OVERDUE];
      await start(leaseMs);
      await pass(200);
      await pass(999);
      expect(told()).toEqual([[0, undefined, null]]);
      await pass(1);
      expect(told()[1]).toEqual([1_000, undefined, 1_000]);
    },
  );

  it('looks at as many rows as it takes to find its own', async () => {
    nodes.update([['other', ['a']]]);
    await start(60_000);
    await pass(200);
    expect(sweeps[0]!.scan).toBe(4_400);
  });

  it('helps when its pass had several pages, whatever the last one was', async () => {
    pages = [{ cursor: at(1) }, {}];
    await start(60_000);
    await pass(200);
    await pass(1_000);
    expect(told().slice(2)).toEqual([[1_000, undefined, 1_000]]);
  });

  it('passes over its own again instead, as soon as something of that was left out', async () => {
    pages = [OVERDUE];
    await start(60_000);
    await pass(200);
    overflows += 1;
    scanner.goOn();
    await turns();
    expect(told().slice(1)).toEqual([[0, undefined, null]]);
  });

  it('helps no one when nothing was overdue', async () => {
    await start(60_000);
    await pass(200);
    await pass(4_000);
    expect(told()).toEqual([[0, undefined, null]]);
  });

  it('helps page by page, and then passes over its own again', async () => {
    pages = [OVERDUE, { cursor: at(5), ...OVERDUE }, OVERDUE];
    await start(60_000);
    await pass(200);
    await pass(1_000);
    expect(told().slice(1)).toEqual([
      [1_000, undefined, 1_000],
      [1_000, 5, 1_000],
    ]);
    await pass(5_000);
    expect(told()[3]).toEqual([6_000, undefined, null]);
  });

  it('begins anew when the nodes are others, and what it was told meanwhile', async () => {
    await start(60_000);
    await pass(200);
    await pass(1_000);
    nodes.update([]);
    await turns();
    expect(told()[1]).toEqual([1_000, undefined, null]);
  });
});

it('what was asked for with old shares is not offered: the pass begins anew', async () => {
  pages = [{ wakes: [wake(1)], cursor: at(1) }];
  meanwhile = withPeers;
  await start(60_000);
  await pass(1);
  expect(sweeps.map(({ from }) => from)).toEqual([null, null]);
  expect(offered).toEqual([]);
});

// Leases end meanwhile of what it is past.
it('a pass that cannot go on for as long as passes are apart begins anew', async () => {
  pages = [{ cursor: at(1) }, ...Array.from({ length: 9 }, () => new Error('down'))];
  await start(4_000);
  while (pages.length > 0) await pass(100);
  await pass(5_000);
  const late = told().filter(([ms]) => ms >= 2_000);
  expect(told()[1]![1]).toBe(1);
  expect(new Set(late.map(([, from]) => from))).toEqual(new Set([undefined]));
});

it('stopped before it has begun, it never begins', async () => {
  withPeers();
  scanner = scannerThat(60_000);
  scanner.start();
  await scanner.stop();
  expect(jest.getTimerCount()).toBe(0);
});

describe('a pass that finds the ready queue full', () => {
  it('waits, and goes on where it stopped as soon as there is room', async () => {
    pages = [{ cursor: at(1) }];
    scanner = scannerThat(60_000);
    scanner.start();
    nodes.sharesOf = () => ({ ...nodes.shares, names: [] });
    // Full as soon as the first page is in.
    const push = sweeps.push.bind(sweeps);
    sweeps.push = (...more) => {
      queue.hasRoom = false;
      return push(...more);
    };
    await pass(1);
    expect(sweeps).toHaveLength(1);
    pages = [{}];
    queue.hasRoom = true;
    scanner.goOn();
    await turns();
    // What was left behind may lie anywhere, so it looks from the beginning.
    expect(told().slice(1)).toEqual([[0, undefined, null]]);
  });

  it('begins again when something overdue was left out, as soon as there is room', async () => {
    await start(60_000);
    scanner.goOn();
    await turns();
    expect(sweeps).toHaveLength(1);
    overflows += 1;
    scanner.goOn();
    await turns();
    expect(sweeps).toHaveLength(2);
    scanner.goOn();
    await turns();
    expect(sweeps).toHaveLength(2);
  });
});

describe('behind a crowd that fills the ready queue', () => {
  const EVERY_MS = 15_000;

  beforeEach(() => {
    queue.hasRoom = false;
    enough.set('a', 'all');
  });

  it('what other names have is fetched, page by page, but not of groups that have enough', async () => {
    enough.set('b', ['g']);
    pages = [{ cursor: at(1), wakes: [wake(1)] }, { wakes: [wake(2)] }];
    await start(3_600_000);
    const of = { help: null, names: ['b'], leftOut: ['b g'], limit: 2_000, scan: 10_000 };
    expect(sweeps).toMatchObject([
      { from: null, ...of },
      { from: at(1), ...of },
    ]);
    expect(offered.map(([id]) => id)).toEqual([1, 2]);
    expect(new Set(offered.map(([, walk]) => walk)).size).toBe(1);
    // What comes then is of a walk of its own, from the beginning.
    queue.hasRoom = true;
    pages = [{ wakes: [wake(3)] }];
    scanner.goOn();
    await turns();
    expect(sweeps[2]).toMatchObject({ from: null, names: ['a', 'b'] });
    expect(offered[2]![1]).toBeGreaterThan(offered[1]![1]);
  });

  it('nothing is fetched where all have enough, or for a share that is another by then', async () => {
    enough.set('b', 'all');
    await start(3_600_000);
    expect(sweeps).toEqual([]);
    enough.delete('b');
    pages = [{ cursor: at(1), wakes: [wake(1)] }];
    meanwhile = withPeers;
    await pass(EVERY_MS);
    expect(offered).toEqual([]);
  });

  it('that is done as seldom as a pass comes, and sooner where room and a run show that it pays', async () => {
    await start(3_600_000);
    await pass(EVERY_MS - 1);
    expect(sweeps).toHaveLength(1);
    await pass(1);
    expect(sweeps).toHaveLength(2);
    await pass(1_000);
    scanner.goOn();
    await turns();
    expect(sweeps).toHaveLength(2);
    queue.hasRoomBehind = true;
    queue.takes += 1;
    scanner.goOn();
    await turns();
    expect(sweeps).toHaveLength(3);
  });

  it('a pass that waits meanwhile goes on where it stopped', async () => {
    enough.set('b', 'all');
    await start(3_600_000);
    queue.hasRoom = true;
    pages = [{ cursor: at(1) }];
    meanwhile = () => {
      queue.hasRoom = false;
    };
    scanner.goOn();
    await turns();
    queue.hasRoom = true;
    scanner.goOn();
    await turns();
    expect(told().map(([, from]) => from)).toEqual([undefined, 1]);
  });
});
