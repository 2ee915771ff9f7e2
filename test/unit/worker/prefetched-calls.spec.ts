import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Attempt, type Outcome } from '../../../src/delay-queue/core/worker/attempt.js';
import type { Call } from '../../../src/delay-queue/core/worker/call.js';
import { Loop, type LoopParts } from '../../../src/delay-queue/core/worker/loop.js';
import {
  type Handler,
  WAITS_MAX_MS,
} from '../../../src/delay-queue/core/handlers/handler.registry.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import type { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import { nameStates } from '../../support/name-states.js';

const LEASE_MS = 60_000;

/** Slots that are free. */
let places: number;
/** Calls that the next claim asks for. */
let due: unknown[];
/** What the claim of an id answers. */
let claimed: Map<number, Attempt>;
/** Ids of what has begun, in order, and of what was given back. */
let begun: number[];
let back: string[];
/** What a call does as it begins. */
let runs: () => void;
let jobs: Jobs;
let names: NameStates;
let loop: Loop;

beforeEach(() => {
  jest.useFakeTimers({ now: 0, doNotFake: ['setImmediate', 'clearImmediate'] });
  [places, due, claimed, begun, back, runs] = [0, [], new Map(), [], [], () => {}];
  [jobs, names] = [new Jobs(), nameStates()];
  const executor = {
    run: (call: Call) => {
      begun.push(idOf(call));
      runs();
    },
    end: (call: Call, { kind }: Outcome) => {
      back.push(`${idOf(call)} ${kind}`);
      for (const attempt of call.attempts) jobs.written(attempt);
    },
  };
  const claimer = {
    claim: async (entries: { id: number }[]) => ({
      rows: new Map(entries.map(({ id }) => [id, { id, epoch: 1 }])),
      askedAtMs: performance.now(),
      full: new Set(),
    }),
    attempt: ({ id }: { id: number }) => claimed.get(id),
    stop: () => {},
  };
  const slots = { admit: () => ({ calls: due.splice(0), pauseLeftMs: Infinity }) };
  const queue = {
    claimed: (_: unknown, attempt: Attempt) => jobs.adopt(attempt),
    forget: () => {},
    shut: () => {},
    hasRoomBehind: false,
  };
  const completer = { size: 0 };
  loop = new Loop({
    executor,
    slots,
    names,
    queue,
    claimer,
    completer,
  } as unknown as LoopParts);
});

afterEach(() => {
  void loop.stop();
  jest.useRealTimers();
});

const idOf = ({ attempts: [attempt] }: Call): number => attempt?.id ?? Number.NaN;

const takeSlot = (isFirst = true): boolean => isFirst && places > 0 && (places -= 1) >= 0;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
}

/** One more is claimed: it begins, or waits. */
async function begin(
  id: number,
  { attempts = 1, name = 'a', leaseMs = LEASE_MS } = {},
): Promise<Attempt> {
  const row = { id, epoch: 1, name, key: null, extras: null, attempts, max_attempts: 3 } as never;
  const handler = { name, transactional: false, batch: null, leaseMs, timeoutMs: 1 } as Handler;
  const attempt = new Attempt(row, handler, performance.now() + leaseMs, 5);
  claimed.set(id, attempt);
  const entries = [{ id, epoch: 0, name, state: 'claiming' }];
  due.push({ entries, name: names.of(name), takeSlot, release: () => {} });
  loop.wake();
  await turns();
  return attempt;
}

async function beginAll(...ids: number[]): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for (const id of ids) attempts.push(await begin(id));
  return attempts;
}

const freed = (name = 'a'): void => loop.slotFreed(names.of(name));

const free = (name = 'a'): void => {
  places += 1;
  freed(name);
};

const pass = (ms: number): void => {
  jest.advanceTimersByTime(ms);
};

it('begin at once where there is a slot, and else in their order, each as one ends', async () => {
  pass(7);
  places = 1;
  const all = await beginAll(1, 2, 3);
  expect(begun).toEqual([1]);
  pass(100);
  free();
  expect(begun).toEqual([1, 2]);
  expect(all.map(({ latenessMs }) => latenessMs)).toEqual([5, 105, 5]);
  // Of another name, it is not theirs.
  free('b');
  expect(begun).toEqual([1, 2]);
  freed();
  for (const { holder } of all) holder.close();
  expect([begun, back]).toEqual([[1, 2, 3], []]);
});

it('do not overtake those that wait, though a slot is free by then', async () => {
  await begin(1);
  places = 2;
  await begin(2);
  expect(begun).toEqual([1, 2]);
  await begin(4, { name: 'b' });
  free('b');
  expect(begun).toEqual([1, 2, 4]);
});

it('whose attempt is their last go first, for a crash would spend it', async () => {
  await begin(1);
  await begin(2, { attempts: 2 });
  await begin(3, { attempts: 3 });
  for (let each = 0; each < 3; each += 1) free();
  expect(begun).toEqual([3, 1, 2]);
});

it('of handlers that are over at once begin one after the other, not inside each other', async () => {
  let depth = 0;
  const depths: number[] = [];
  await beginAll(1, 2, 3);
  runs = () => {
    depths.push((depth += 1));
    free();
    depth -= 1;
  };
  free();
  expect([begun, depths]).toEqual([
    [1, 2, 3],
    [1, 1, 1],
  ]);
});

it('begin for 10 ms at most until other work has its turn', async () => {
  await beginAll(1, 2, 3);
  runs = () => jest.setSystemTime(Date.now() + 5);
  const spied = jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
  places = 3;
  freed();
  expect(begun).toEqual([1, 2]);
  await turns();
  expect(begun).toEqual([1, 2, 3]);
  spied.mockRestore();
});

it('that wait too long are given back, and none of their name is prefetched', async () => {
  const name = names.of('a');
  name.meanMs = 1;
  await begin(1);
  pass(WAITS_MAX_MS - 50);
  await begin(2);
  pass(50);
  await turns();
  expect([back, name.roomToPrefetch(500, false)]).toEqual([['1 unbegun'], 0]);
  pass(WAITS_MAX_MS * 2);
  await turns();
  expect([back, jobs.runningCount]).toEqual([['1 unbegun', '2 unbegun'], 0]);
  await begin(3);
  pass(WAITS_MAX_MS * 2);
  await turns();
  expect(back).toHaveLength(3);
});

it('whose lease has ended meanwhile are given back, not begun', async () => {
  places = 1;
  await begin(1, { leaseMs: 0 });
  await begin(2, { leaseMs: 100 });
  pass(100);
  free();
  expect([begun, back]).toEqual([[], ['1 unbegun', '2 unbegun']]);
});

it('that are cut leave their line, and all do when the node ends', async () => {
  const all = await beginAll(1, 2, 3);
  all[0]?.holder.close();
  free();
  expect([begun, back]).toEqual([[2], ['1 released']]);
  void loop.stop();
  free();
  expect([begun, back, jest.getTimerCount()]).toEqual([[2], ['1 released', '3 unbegun'], 0]);
});
