import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Nodes } from '../../../src/delay-queue/cluster/nodes.js';
import type { Intake } from '../../../src/delay-queue/intake/intake.js';
import { Sweeper } from '../../../src/delay-queue/intake/sweep/sweeper.js';
import type { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import type { Cursor, Shares, SweptPage, Wake } from '../../../src/delay-queue/store/wire/wakes.js';
import { Signal } from '../../../src/delay-queue/tasks/signal.js';

/** One page that was asked for. */
interface Sweep {
  atMs: number;
  from: Cursor | null;
  help: number | null;
  names: readonly string[];
  leftOut: readonly string[];
}

let sweeps: Sweep[];
/** What the next pages bring; when none is left, nothing is overdue. */
let pages: (Partial<SweptPage> | Error)[];
/** While the next page is on its way. */
let meanwhile: () => void;
let offered: [id: number, walk: number][];
let nodes: Nodes;
/** What the intake says of itself. */
let intake: { hasRoom: boolean; hasRoomBehind: boolean; takes: number };
/** Names, or their groups, that have enough. */
let enough: Map<string, string[] | 'all'>;
let room: Signal;
let overflow: Signal;
let sweeper: Sweeper;

const OVERDUE = { oldestMs: 1 };
const at = (id: number): Cursor => ({ wakeMs: 1_000, id });
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

function sweeperThat(leaseMs: number): Sweeper {
  const store = {
    sweep: async (
      { names, leftOut }: Shares,
      from: Cursor | null,
      { helpAfterMs }: { helpAfterMs: number | null },
    ): Promise<SweptPage> => {
      sweeps.push({ atMs: performance.now(), from, help: helpAfterMs, names, leftOut });
      await Promise.resolve();
      meanwhile();
      meanwhile = () => {};
      const page = pages.shift();
      if (page instanceof Error) throw page;
      return { wakes: [], cursor: null, oldestMs: null, nowMs: 2_000_000, ...page };
    },
  } as unknown as NodeStore;
  const of = {
    room,
    overflow,
    get hasRoom() {
      return intake.hasRoom;
    },
    get hasRoomBehind() {
      return intake.hasRoomBehind;
    },
    get takes() {
      return intake.takes;
    },
    roomFor: (name: string) => {
      const full = enough.get(name) ?? [];
      return full === 'all' ? undefined : { butNotOf: full };
    },
    offer: ({ id }: Wake, _: string, walk: number) => void offered.push([id, walk]),
  } as unknown as Intake;
  return new Sweeper(store, nodes, leaseMs, of, '7', new DelayEvents());
}

beforeEach(() => {
  jest.useFakeTimers({ now: 0, doNotFake: ['setImmediate', 'clearImmediate', 'nextTick'] });
  [sweeps, pages, offered, enough] = [[], [], [], new Map()];
  meanwhile = () => {};
  intake = { hasRoom: true, hasRoomBehind: false, takes: 0 };
  [room, overflow, nodes] = [new Signal(), new Signal(), new Nodes('node', ['a', 'b'])];
});

afterEach(async () => {
  await sweeper.stop();
  jest.useRealTimers();
});

const withPeers = (): void => void nodes.update([['other', ['a', 'b']]]);

async function start(leaseMs: number): Promise<void> {
  sweeper = sweeperThat(leaseMs);
  sweeper.start();
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
    await sweeper.stop();
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
    expect(sweeps).toHaveLength(3);
    expect(offered.map(([id]) => id)).toEqual([1, 2, 3]);
    expect(new Set(offered.map(([, walk]) => walk)).size).toBe(1);
  });
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
  sweeper = sweeperThat(60_000);
  sweeper.start();
  await sweeper.stop();
  expect(jest.getTimerCount()).toBe(0);
});

describe('a pass that finds the ready queue full', () => {
  it('waits, and goes on where it stopped as soon as there is room', async () => {
    pages = [{ cursor: at(1) }];
    sweeper = sweeperThat(60_000);
    sweeper.start();
    nodes.sharesOf = () => ({ ...nodes.shares, names: [] });
    // Full as soon as the first page is in.
    const push = sweeps.push.bind(sweeps);
    sweeps.push = (...more) => {
      intake.hasRoom = false;
      return push(...more);
    };
    await pass(1);
    expect(sweeps).toHaveLength(1);
    pages = [{}];
    intake.hasRoom = true;
    room.tell();
    await turns();
    // What was left behind may lie anywhere, so it looks from the beginning.
    expect(told().slice(1)).toEqual([[0, undefined, null]]);
  });

  it('begins again when something overdue was left out, as soon as there is room', async () => {
    await start(60_000);
    room.tell();
    await turns();
    expect(sweeps).toHaveLength(1);
    overflow.tell();
    room.tell();
    await turns();
    expect(sweeps).toHaveLength(2);
    room.tell();
    await turns();
    expect(sweeps).toHaveLength(2);
  });
});
