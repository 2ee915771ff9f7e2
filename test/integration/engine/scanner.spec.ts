import { setImmediate as settled } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { clientRunner } from '../../support/other-node.js';
import { insertOverdue } from './support/overdue.js';
import {
  type HintListener,
  Idle,
  NO_LOCK,
  Nodes,
  NodeStore,
  type ResolvedOptions,
  Scanner,
  type SweptPage,
  type TimerQueue,
} from '../../support/engine-parts.js';

const ROWS = 40;
const NAME = 'test.shared';
/** The longest there is: what is late must not wait for half of it. */
const LEASE_MS = 3_600_000;
const OTHER: [id: string, names: string[]] = ['a', [NAME]];

/** The engine's own, which remembers what it was asked for. */
class SeenStore extends NodeStore {
  readonly helpsAfterMs: (number | null)[] = [];
  /** Runs while the statement of that number is on its way. */
  meanwhile: (no: number) => void = () => {};
  #latest: Promise<SweptPage> | undefined;

  override sweep(...parameters: Parameters<NodeStore['sweep']>): Promise<SweptPage> {
    this.helpsAfterMs.push(parameters[2].helpAfterMs);
    this.#latest = super.sweep(...parameters);
    this.meanwhile(this.helpsAfterMs.length);
    return this.#latest;
  }

  /** Until the latest statement is answered, and the scanner has dealt with what it brought. */
  async answered(): Promise<void> {
    await this.#latest;
    // The scanner hears of it a little later, and then waits for a turn itself.
    await settled();
    await settled();
  }
}

let database: TestDatabase;
let client: Client;
let store: SeenStore;
let nodes: Nodes;
/** Pages are read until so many wakes are offered. */
let room: number;
let offered: number[];
let overflows: number;
let queue: Pick<TimerQueue, 'hasRoom' | 'roomFor' | 'offer' | 'overflows'>;
let scanner: Scanner;

beforeEach(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(...insertOverdue(NAME, ROWS));
  store = new SeenStore(clientRunner(client), 'delay_queue', 'b');
  nodes = new Nodes('b', [NAME]);
  room = Infinity;
  offered = [];
  overflows = 0;
  queue = {
    get hasRoom() {
      return offered.length < room;
    },
    roomFor: () => ({ butNotOf: [] }),
    offer: ({ id }) => offered.push(id) > 0,
    get overflows() {
      return overflows;
    },
  };
  scanner = new Scanner({
    nodeStore: store,
    nodes,
    options: { leaseMs: LEASE_MS } as ResolvedOptions,
    queue: queue as TimerQueue,
    listener: { processLock: NO_LOCK } as HintListener,
    events: new DelayEvents(),
    idle: new Idle(null),
  });
  nodes.changed.on(() => scanner.restart());
  // The scanner's timers and its clock; what the connection waits for stays real.
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});

afterEach(async () => {
  await scanner.stop();
  jest.useRealTimers();
  await client.end();
  await database.drop();
});

const idsOwned = (): number[] =>
  Array.from({ length: ROWS }, (_, at) => at + 1).filter((id) => nodes.owns(id, NAME));

function start({ settleMs = 0 } = {}): void {
  scanner.start();
  // A timer that another one sets for at once comes a millisecond later.
  jest.advanceTimersByTime(settleMs + 1);
}

/** Until a pass has brought what it brings, page by page. */
async function passes(): Promise<number> {
  for (let n = 0; n < 5; n += 1) await store.answered();
  return offered.length;
}

/** The oldest row is held for now, and the pass of a backlog is past it, and waits for room. */
async function passesHeld(): Promise<void> {
  await client.query(...insertOverdue(NAME, 5_000));
  await client.query(
    `UPDATE delay_queue.delay SET leased_by = 'dead', leased_until = now() + interval '1 min'
     WHERE id = 1`,
  );
  room = 1;
  start();
  await passes();
  expect(offered.length).toBeGreaterThan(0);
  expect(offered).not.toContain(1);
  const ends = `UPDATE delay_queue.delay SET leased_until = now() - interval '1 s' WHERE id = 1`;
  await client.query(ends);
}

describe('Scanner', () => {
  it('with nothing left of its own, gives the other nodes a second before it helps them', async () => {
    nodes.update([OTHER]);
    start({ settleMs: 200 });
    await store.answered();
    expect(offered).toEqual(idsOwned());
    jest.advanceTimersByTime(999);
    expect(store.helpsAfterMs).toEqual([null]);
    jest.advanceTimersByTime(1);
    expect(store.helpsAfterMs).toEqual([null, 1_000]);
    await store.answered();
    expect(new Set(offered).size).toBe(ROWS);
  });

  it('drops a page that was read for other shares, and begins anew', async () => {
    start();
    nodes.update([OTHER]);
    await store.answered();
    expect(offered).toEqual([]);
    jest.advanceTimersByTime(0);
    await store.answered();
    expect(offered).toEqual(idsOwned());
    expect(offered.length).toBeLessThan(ROWS);
  });

  it('drops what it read past a name that fills its room, too', async () => {
    await client.query(...insertOverdue(NAME, 5_000));
    room = 1;
    store.meanwhile = (no) => {
      if (no === 2) nodes.update([OTHER]);
    };
    start();
    await passes();
    expect(store.helpsAfterMs).toHaveLength(2);
    expect(offered).toHaveLength(125);
  });

  it('finds a lease that ends behind a pass that waits: at once where its name has room', async () => {
    await passesHeld();
    jest.advanceTimersByTime(15_000);
    await passes();
    expect(offered).toContain(1);
  });

  it('finds a lease that ends behind a pass that waits: as soon as there is room again where its name has none', async () => {
    queue.roomFor = () => undefined;
    await passesHeld();
    jest.advanceTimersByTime(15_000);
    await passes();
    expect(offered).not.toContain(1);
    room = offered.length + 1;
    scanner.goOn();
    await passes();
    expect(offered).toContain(1);
  });

  it('begins anew when it has fetched what lies behind: what was left out may lie anywhere', async () => {
    await client.query(...insertOverdue(NAME, 5_000));
    const walks: number[] = [];
    queue.offer = ({ id }, _source, walk) => offered.push(id) === walks.push(walk ?? 0);
    room = 1;
    start();
    const before = await passes();
    expect(before).toBeGreaterThan(5_000);
    room = Infinity;
    scanner.goOn();
    await passes();
    expect(offered[before]).toBe(offered[0]);
    // Another walk: what the one before has left out is met by it.
    expect(walks[before]).toBeGreaterThan(walks[before - 1]!);
  });

  it('looks again when something due was left out, once there is room', async () => {
    start();
    await store.answered();
    scanner.goOn();
    expect(store.helpsAfterMs).toHaveLength(1);
    overflows += 1;
    scanner.goOn();
    expect(store.helpsAfterMs).toHaveLength(2);
  });

  it('looks again after a pass that may be past what was left out', async () => {
    start();
    overflows += 1;
    await store.answered();
    expect(store.helpsAfterMs).toHaveLength(2);
    await store.answered();
    expect(store.helpsAfterMs).toHaveLength(2);
  });

  it('looks for what it left out itself before it helps others', async () => {
    nodes.update([OTHER]);
    start({ settleMs: 200 });
    await store.answered();
    overflows += 1;
    scanner.goOn();
    expect(store.helpsAfterMs).toEqual([null, null]);
  });

  it('finds what was committed late within 15 s, however long a claim may hold', async () => {
    start();
    await store.answered();
    expect(offered).toHaveLength(ROWS);
    await client.query(...insertOverdue(NAME, 1));
    jest.advanceTimersByTime(14_999);
    await settled();
    expect(store.helpsAfterMs).toHaveLength(1);
    jest.advanceTimersByTime(1);
    await store.answered();
    expect(offered.at(-1)).toBe(ROWS + 1);
  });

  it('passes by a name that fills its room as often', async () => {
    await client.query(...insertOverdue(NAME, 5_000));
    room = 1;
    start();
    const first = await passes();
    jest.advanceTimersByTime(14_000);
    expect(await passes()).toBe(first);
    jest.advanceTimersByTime(1_000);
    expect(await passes()).toBeGreaterThan(first);
  });
});
