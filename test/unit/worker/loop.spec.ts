import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Loop, type LoopParts } from '../../../src/delay-queue/core/worker/loop.js';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import { groupText } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import type { NameState } from '../../../src/delay-queue/core/worker/name-state.js';
import { nameStates } from '../../support/name-states.js';
import { signal } from '../../support/delay-node.js';

const HOUR_MS = 3_600_000;
const HANDLER = {};
const names = nameStates();

/** A call of entries that was admitted. */
interface Admitted {
  entries: Job[];
  name: NameState;
  takeSlot: () => boolean;
  release: () => void;
}

/** What is due and has a slot, by turn of asking. */
let due: Admitted[][];
let pauseLeftMs: number;
/** Ids that each claim has asked for, and what it was answered. */
let claims: number[][];
let answer: (ids: number[]) => unknown;
/** What became of calls and entries, in order. */
let done: string[];
let wakes: (() => void)[];
/** How often the scanner was sent on. */
let wentOn: number;
let hasRoomBehind: boolean;
let unacknowledged: number;
let loop: Loop;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
}

const entry = (id: number, group: string | null = null): Job =>
  ({ id, epoch: 1, name: 'a', group, state: 'claiming' }) as Job;

const call = (...entries: Job[]): Admitted => ({
  entries,
  name: names.of('a'),
  takeSlot: () => true,
  release: () => done.push(`released ${entries.map(({ id }) => id).join()}`),
});

const claimed = (ids: number[], full: string[] = []) => ({
  rows: new Map(ids.map((id) => [id, { id, epoch: 2 }])),
  askedAtMs: 0,
  full: new Set(full),
});

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
  [due, pauseLeftMs, claims, done, wakes, unacknowledged] = [[], Infinity, [], [], [], 0];
  [wentOn, hasRoomBehind] = [0, true];
  answer = (ids) => claimed(ids);
  const says =
    (what: string) =>
    (...of: unknown[]): void =>
      void done.push([what, ...of].join(' '));
  const queue = {
    get hasRoomBehind() {
      return hasRoomBehind;
    },
    shut: says('shut'),
    claimed: ({ id }: Job) => done.push(`claimed ${id}`),
    forget: ({ id }: Job) => done.push(`forget ${id}`),
    putBack: (entries: Job[]) => {
      for (const each of entries) {
        each.state = 'ready';
        done.push(`back ${each.id}`);
      }
    },
  };
  const slots = {
    admit: () => ({ calls: due.shift() ?? [], pauseLeftMs }),
  };
  const claimer = {
    claim: async (entries: Job[]) => {
      const ids = entries.map(({ id }) => id);
      claims.push(ids);
      return answer(ids);
    },
    attempt: ({ id }: { id: number }) => (id < 0 ? undefined : { id, handler: HANDLER }),
    whenAnotherWorks: (wake: () => void) => wakes.push(wake),
    stop: says('claimer stops'),
  };
  const missed = {
    lookAfter: async (entries: Job[]) => says('look')(...entries.map(({ id }) => id)),
  };
  const executor = {
    run: ({ attempts }: { attempts: { id: number }[] }) =>
      says('begin')(...attempts.map(({ id }) => id)),
  };
  const scanner = { goOn: () => (wentOn += 1) };
  const completer = {
    get size() {
      return unacknowledged;
    },
  };
  const parts = { queue, slots, names, claimer, missed, executor, completer, scanner };
  loop = new Loop(parts as unknown as LoopParts);
});

afterEach(async () => {
  await loop.stop();
  jest.useRealTimers();
});

it('a pause of all claims ends when something else works again, and by itself', async () => {
  answer = () => ({ pauseMs: HOUR_MS });
  due = [[call(entry(1))]];
  loop.wake();
  await turns();
  expect([claims, done]).toEqual([[[1]], ['released 1']]);
  due = [[call(entry(2))], []];
  loop.wake();
  await turns();
  expect(claims).toEqual([[1]]);
  for (const wake of wakes.splice(0)) wake();
  await turns();
  expect(claims).toEqual([[1], [2]]);
  due = [[call(entry(3))], []];
  jest.advanceTimersByTime(HOUR_MS);
  await turns();
  expect(claims).toEqual([[1], [2], [3]]);
});

describe('a claim', () => {
  it.each<[string, () => void]>([
    ['something wakes the loop', () => loop.wake()],
    ['a call has given its slot back', () => loop.slotFreed(names.of('a'))],
  ])('is made when %s, and then the scanner goes on if there is room', async (_, wake) => {
    due = [[call(entry(1))]];
    wake();
    await turns();
    expect([claims, wentOn > 0]).toEqual([[[1]], true]);
    [wentOn, hasRoomBehind] = [0, false];
    wake();
    await turns();
    expect(wentOn).toBe(0);
  });

  it('is made for all that has a place, two at a time, and the next when one was answered', async () => {
    const gate = signal<unknown>();
    answer = () => gate.promise;
    due = [[call(entry(1), entry(2)), call(entry(3))], [call(entry(4))], [call(entry(5))], []];
    loop.wake();
    await turns();
    expect([claims, loop.isClaiming]).toEqual([[[1, 2, 3], [4]], true]);
    gate.resolve(claimed([1, 2, 3, 4, 5]));
    await turns();
    await turns();
    expect(claims).toEqual([[1, 2, 3], [4], [5]]);
    expect([done.filter((what) => what.startsWith('begin')), loop.isClaiming]).toEqual([
      ['begin 1 2', 'begin 3', 'begin 4', 'begin 5'],
      false,
    ]);
  });

  it('is not made while ten thousand are not written down', async () => {
    unacknowledged = 10_000;
    due = [[call(entry(1))]];
    loop.wake();
    await turns();
    expect(claims).toEqual([]);
    unacknowledged = 9_999;
    loop.wake();
    await turns();
    expect(claims).toEqual([[1]]);
  });

  it('is made again when the pause of a batch is over', async () => {
    pauseLeftMs = 40;
    due = [[]];
    loop.wake();
    await turns();
    due = [[call(entry(1))]];
    jest.advanceTimersByTime(39);
    await turns();
    expect(claims).toEqual([]);
    jest.advanceTimersByTime(1);
    await turns();
    expect(claims).toEqual([[1]]);
  });
});

describe('what a claim did not get', () => {
  it('is looked after, and what was claimed of its call runs', async () => {
    answer = () => claimed([1, -4]);
    due = [[call(entry(1), entry(2)), call(entry(3)), call(entry(-4))]];
    loop.wake();
    await turns();
    expect(done).toEqual([
      'claimed 1',
      'begin 1',
      'released 3',
      'forget -4',
      'released -4',
      'look 2 3',
    ]);
  });

  it('and a limit holds back is put back, not looked after', async () => {
    answer = () => claimed([], [groupText('a', 'g')]);
    due = [[call(entry(1, 'g')), call(entry(2, 'h')), call(entry(3))]];
    loop.wake();
    await turns();
    expect(done.slice(-2)).toEqual(['back 1', 'look 2 3']);
    answer = () => claimed([], [groupText('a', null)]);
    due = [[call(entry(4, 'g')), call(entry(5))]];
    loop.wake();
    await turns();
    expect(done.slice(-2)).toEqual(['back 4', 'back 5']);
  });
});

it('stops with the claims that are on their way, and makes no other', async () => {
  const gate = signal<unknown>();
  answer = () => gate.promise;
  due = [[call(entry(1))], []];
  loop.wake();
  await turns();
  let isStopped = false;
  const stopped = loop.stop().then(() => (isStopped = true));
  expect(done).toEqual(['shut', 'claimer stops']);
  await turns();
  expect(isStopped).toBe(false);
  due = [[call(entry(2))]];
  loop.wake();
  gate.resolve(claimed([1]));
  await stopped;
  await turns();
  expect([claims, done.at(-1)]).toEqual([[[1]], 'begin 1']);
});
