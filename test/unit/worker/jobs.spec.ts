import { describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import { type Job, type JobState, NEXT } from '../../../src/delay-queue/core/worker/job.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import { job } from '../../support/job.js';

const IDS = [1, 2];
const STATES = Object.keys(NEXT) as JobState[];

const attempt = (id: number, epoch: number, holder = {}): Attempt =>
  ({ id, epoch, name: 'a', holder }) as Attempt;

it('a job goes on as its table says, or is forgotten', () => {
  for (const [from, next] of Object.entries(NEXT) as [JobState, readonly JobState[]][]) {
    const reached = STATES.filter((to) => {
      try {
        job({ state: from }).become(to);
        return true;
      } catch {
        return false;
      }
    });
    expect(reached.toSorted()).toEqual([...next, 'gone'].toSorted());
  }
});

/** What is done to one delay, if it may be done now. */
const STEP = fc.record({
  id: fc.constantFrom(...IDS),
  does: fc.constantFrom(
    ...(['watch', 'ready', 'claiming', 'claimed', 'again', 'adopt', 'ended', 'written'] as const),
    'forget' as const,
  ),
  /** Which of several claims. */
  which: fc.nat(3),
});

describe('the jobs of a node, whatever becomes of each', () => {
  it('are found by their ids as a list of all would find them', () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 60 }), (steps) => {
        const jobs = new Jobs();
        const all: Job[] = [];
        let epoch = 0;
        const inState = (id: number, ...states: JobState[]): Job[] =>
          all.filter((each) => each.id === id && states.includes(each.state));
        for (const { id, does, which } of steps) {
          const [watched] = all.filter((each) => each.id === id && each.isWatched);
          const held = inState(id, 'claimed', 'ended');
          const { attempt: its } = held[which % Math.max(1, held.length)] ?? {};
          if (does === 'watch' && watched === undefined) {
            all.push(job({ id, epoch }));
            jobs.watch(all.at(-1)!);
          } else if (does === 'adopt') {
            const adopted = attempt(id, (epoch += 1));
            all.push(jobs.adopt(adopted));
          } else if (does === 'ready' && watched?.state === 'wheel') watched.become('ready');
          else if (does === 'claiming' && watched?.state === 'ready') watched.become('claiming');
          else if (does === 'again' && watched?.state === 'claiming') watched.become('wheel');
          else if (does === 'claimed' && watched?.state === 'claiming')
            jobs.claimed(watched, attempt(id, (epoch += 1)));
          else if (does === 'forget' && watched !== undefined) jobs.forget(watched);
          else if (does === 'ended' && its !== undefined) jobs.ended(its);
          else if (does === 'written' && its !== undefined) jobs.written(its);
          for (const each of IDS) {
            expect(jobs.watched(each)).toBe(all.find((one) => one.id === each && one.isWatched));
            const epochs = inState(each, 'claimed', 'ended').map((one) => one.epoch);
            expect(jobs.covers(each, Math.max(0, ...epochs))).toBe(epochs.length > 0);
            expect(jobs.covers(each, Math.max(0, ...epochs) + 1)).toBe(false);
            expect(jobs.runs(each) !== undefined).toBe(inState(each, 'claimed').length > 0);
          }
          const count = (states: JobState[]) => IDS.flatMap((each) => inState(each, ...states));
          expect(jobs.runningCount).toBe(count(['claimed']).length);
          expect(new Set(jobs.running())).toEqual(
            new Set(count(['claimed']).map((a) => a.attempt)),
          );
          expect(new Set(jobs.unwritten())).toEqual(
            new Set(count(['ended']).map((a) => a.attempt)),
          );
          expect(jobs.watchedCount).toBe(all.filter((one) => one.isWatched).length);
          expect(new Set(jobs.allWatched())).toEqual(new Set(all.filter((one) => one.isWatched)));
        }
      }),
    );
  });
});

describe('what runs', () => {
  it('hears of an abort that is for that very claim, and of the end of the node', () => {
    const [jobs, heard] = [new Jobs(), [] as string[]];
    for (const [id, epoch] of [
      [1, 1],
      [1, 2],
      [2, 1],
    ] as const) {
      const say = (what: string) => () => heard.push(`${what} ${id} ${epoch}`);
      jobs.adopt(attempt(id, epoch, { abort: say('abort'), close: say('close') }));
    }
    jobs.abort([1, 2, 3].map((id) => ({ id, epoch: 2 })));
    expect(heard).toEqual(['abort 1 2']);
    jobs.close();
    expect(heard.slice(1).toSorted()).toEqual(['close 1 1', 'close 1 2', 'close 2 1']);
  });

  it('is waited for until the last is gone, by everybody who waits', async () => {
    jest.useFakeTimers();
    const jobs = new Jobs();
    await jobs.whenIdle(60_000);
    const [one, other] = [attempt(1, 1), attempt(2, 1)];
    for (const each of [one, other]) jobs.adopt(each);
    let idle = 0;
    const waits = [60_000, 120_000].map((ms) => jobs.whenIdle(ms).then(() => (idle += 1)));
    jobs.ended(one);
    await jest.advanceTimersByTimeAsync(0);
    expect(idle).toBe(0);
    jobs.written(other);
    await Promise.all(waits);
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });
});

it('a second claim of one epoch is found where it is taken in', () => {
  const jobs = new Jobs();
  jobs.adopt(attempt(1, 2));
  jobs.adopt(attempt(1, 3));
  expect(() => jobs.adopt(attempt(1, 3))).toThrow('one claim of an epoch (3)');
});

it('claims without an answer are remembered until their row goes on, the latest, so many at most', () => {
  const jobs = new Jobs();
  const lost = (...claims: [id: number, epoch: number][]) =>
    claims.map(([id, epoch]) => jobs.isLost(id, epoch));
  for (const [id, epoch] of [
    [1, 5],
    [2, 5],
    [3, 5],
    [3, 7],
  ] as const)
    jobs.lose(id, epoch);
  jobs.found(1);
  expect(lost([1, 5], [2, 5], [3, 5], [3, 7])).toEqual([false, true, false, true]);
  expect(lost([2, 6], [2, 5])).toEqual([false, false]);
  for (let id = 4; id <= 20_003; id += 1) jobs.lose(id, 1);
  expect(lost([3, 7], [4, 1], [20_003, 1])).toEqual([false, true, true]);
  // Claimed again, it is the newest.
  jobs.lose(4, 2);
  jobs.lose(20_004, 1);
  expect(lost([4, 2], [5, 1])).toEqual([true, false]);
});
