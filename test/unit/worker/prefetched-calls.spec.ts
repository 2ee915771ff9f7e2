import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Attempt, Call } from '../../../src/delay-queue/worker/call.js';
import { Loop, type LoopParts, WAITS_MAX_MS } from '../../../src/delay-queue/worker/loop.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.registry.js';
import { InFlight, type Outcome } from '../../../src/delay-queue/worker/claims.js';

const LEASE_MS = 60_000;

/** Places that are free. */
let places: number;
/** Ids of what has begun, in order, and of what was given back. */
let begun: number[];
let back: string[];
let slow: string[];
/** What a call does as it begins. */
let runs: () => void;
let inFlight: InFlight;
let loop: Loop;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [places, begun, back, slow, runs] = [0, [], [], [], () => {}];
  inFlight = new InFlight();
  const executor = {
    run: (call: Call) => {
      begun.push(idOf(call));
      runs();
    },
    end: (call: Call, { kind }: Outcome) => {
      back.push(`${idOf(call)} ${kind}`);
      for (const attempt of call.attempts) inFlight.delete(attempt);
    },
  };
  loop = new Loop({
    executor,
    inFlight,
    admission: {
      prefetch: { isSlow: (name: string) => slow.push(name) },
      admit: () => ({ calls: [], pauseLeftMs: Infinity }),
    },
    queue: { shut: () => {}, hasRoomBehind: false },
    claimer: { stop: () => {} },
    completer: { size: 0 },
  } as unknown as LoopParts);
});

afterEach(() => {
  void loop.stop();
  jest.useRealTimers();
});

const idOf = ({ attempts: [attempt] }: Call): number => attempt?.id ?? Number.NaN;

const takeSlot = (isFirst = true): boolean => isFirst && places > 0 && (places -= 1) >= 0;

function begin(id: number, { attempts = 1, name = 'a', leaseMs = LEASE_MS } = {}): Call {
  const row = { id, epoch: 1, name, key: null, attempts, max_attempts: 3 } as never;
  const handler = { name, transactional: false, batch: null, leaseMs, timeoutMs: 1 } as Handler;
  const attempt = new Attempt(row, handler, performance.now() + leaseMs, 5);
  const call = new Call(handler, [attempt], { release: () => {} });
  loop.beginCall(call, { takeSlot } as never);
  return call;
}

const free = (name = 'a'): void => {
  places += 1;
  loop.slotFreed(name);
};

const pass = (ms: number): void => {
  jest.advanceTimersByTime(ms);
};

it('begin at once where there is a place, and else in their order, each as one ends', () => {
  pass(7);
  places = 1;
  const all = [1, 2, 3].map((id) => begin(id));
  expect([begun, inFlight.size]).toEqual([[1], 2]);
  pass(100);
  free();
  expect(begun).toEqual([1, 2]);
  expect(all.map(({ attempts: [attempt] }) => attempt?.latenessMs)).toEqual([5, 105, 5]);
  // Of another name, it is not theirs.
  free('b');
  expect(begun).toEqual([1, 2]);
  loop.slotFreed('a');
  for (const call of all) call.close();
  expect([begun, back]).toEqual([[1, 2, 3], []]);
});

it('do not overtake those that wait, though a place is free by then', () => {
  begin(1);
  jest.advanceTimersByTime(1);
  places = 2;
  begin(2);
  expect(begun).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(begun).toEqual([1, 2]);
  begin(4, { name: 'b' });
  free('b');
  expect(begun).toEqual([1, 2, 4]);
});

it('whose attempt is their last go first, for a crash would spend it', () => {
  begin(1);
  begin(2, { attempts: 2 });
  begin(3, { attempts: 3 });
  for (let each = 0; each < 3; each += 1) free();
  expect(begun).toEqual([3, 1, 2]);
});

it('of handlers that are over at once begin one after the other, not inside each other', () => {
  let depth = 0;
  const depths: number[] = [];
  for (let id = 1; id <= 3; id += 1) begin(id);
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

it('begin for 10 ms at most until other work has its turn', () => {
  for (let id = 1; id <= 3; id += 1) begin(id);
  runs = () => jest.setSystemTime(Date.now() + 5);
  const spied = jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
  places = 3;
  loop.slotFreed('a');
  expect(begun).toEqual([1, 2]);
  jest.runOnlyPendingTimers();
  expect(begun).toEqual([1, 2, 3]);
  spied.mockRestore();
});

it('that wait too long are given back, and no more of their name are claimed ahead', () => {
  begin(1);
  pass(WAITS_MAX_MS - 50);
  begin(2);
  pass(50);
  jest.runOnlyPendingTimers();
  expect([back, slow]).toEqual([['1 unbegun'], ['a']]);
  pass(WAITS_MAX_MS * 2);
  expect([back, inFlight.size]).toEqual([['1 unbegun', '2 unbegun'], 0]);
  begin(3);
  pass(WAITS_MAX_MS * 2);
  expect(back).toHaveLength(3);
});

it('whose lease has ended meanwhile are given back, not begun', () => {
  places = 1;
  begin(1, { leaseMs: 0 });
  begin(2, { leaseMs: 100 });
  pass(100);
  free();
  expect([begun, back]).toEqual([[], ['1 unbegun', '2 unbegun']]);
});

it('that are cut leave their line, and all do when the node ends', () => {
  const all = [1, 2, 3].map((id) => begin(id));
  all[0]?.close();
  free();
  expect([begun, back]).toEqual([[2], ['1 released']]);
  void loop.stop();
  free();
  expect([begun, back, jest.getTimerCount()]).toEqual([[2], ['1 released', '3 unbegun'], 0]);
});
