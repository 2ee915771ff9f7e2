import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayEvents } from '../../../src/delay-queue/core/api/events.js';
import { CHECKED, invariant } from '../../../src/delay-queue/core/tasks/invariant.js';
import { Idle, RecurringTask } from '../../../src/delay-queue/core/tasks/recurring-task.js';
import { Paced, Trigger } from '../../../src/delay-queue/core/tasks/trigger.js';
import { type Growth, pauseMs } from '../../../src/delay-queue/core/tasks/pauses.js';
import { TaskHealth } from '../../../src/delay-queue/core/tasks/task-health.js';
import { LATE, within } from '../../../src/delay-queue/core/tasks/signal.js';
import { signal } from '../../support/delay-node.js';

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

let runs: number;

/** @returns how often what is tried has run meanwhile, the turns after it included */
const runsIn = async (ms: number): Promise<number> => {
  const before = runs;
  jest.advanceTimersByTime(ms);
  await new Promise(setImmediate);
  return runs - before;
};

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
  runs = 0;
});

afterEach(() => {
  jest.useRealTimers();
});

describe('a recurring task', () => {
  let run: () => Promise<number>;
  let told: string[];
  let task: RecurringTask;
  let idle: Idle;
  /** Another task of the same application. */
  let other: TaskHealth;

  beforeEach(() => {
    told = [];
    idle = new Idle(60_000);
    const events = new DelayEvents();
    events.on('taskFailed', () => told.push('taskFailed'));
    events.on('taskRecovered', () => told.push('taskRecovered'));
    other = new TaskHealth(events, 'scan');
    task = new RecurringTask(
      () => {
        runs += 1;
        return run();
      },
      new TaskHealth(events, 'load'),
      idle,
    );
  });

  afterEach(() => task.stop());

  it('asked to run now, runs at once, or right after the present run, never twice at a time', async () => {
    const gate = signal<number>();
    run = () => gate.promise;
    task.start();
    await pass(0);
    task.runNow();
    await pass(10_000);
    expect(runs).toBe(1);
    gate.resolve(1_000);
    await pass(0);
    await pass(0);
    expect(runs).toBe(2);
    task.runNow();
    expect(runs).toBe(3);
  });

  it('goes on after a failure, with growing pauses, and says when it works again', async () => {
    run = () => Promise.reject(new Error('down'));
    task.start();
    await pass(60_000);
    // Up to 5 s each once grown: far fewer than with the first pause of 0.1 s.
    expect(runs).toBeGreaterThan(10);
    expect(runs).toBeLessThan(40);
    expect(told).toEqual(Array(runs).fill('taskFailed'));
    run = async () => 1_000;
    await pass(5_000);
    expect(told.slice(told.indexOf('taskRecovered'))).toEqual(['taskRecovered']);
  });

  it('that pauses after a failure runs at once when something else works again, and not because it works on', async () => {
    run = () => Promise.reject(new Error('down'));
    task.start();
    await pass(60_000);
    const failed = runs;
    other.worked();
    await pass(0);
    expect(runs).toBe(failed);
    other.failed(new Error('down'));
    other.worked();
    await pass(0);
    expect(runs).toBe(failed + 1);
    // What runs as usual is not disturbed by that.
    run = async () => 60_000;
    await pass(5_000);
    const worked = runs;
    other.failed(new Error('down'));
    other.worked();
    await pass(0);
    expect(runs).toBe(worked);
  });

  it('whose time comes while the node is idle waits for the end of that, and runs once', async () => {
    run = async () => 1_000;
    task.start();
    await pass(0);
    idle.isOn = true;
    await pass(60_000);
    expect(runs).toBe(1);
    idle.end();
    await pass(0);
    expect(runs).toBe(2);
    await pass(1_000);
    expect(runs).toBe(3);
  });

  it('that was stopped while the node is idle does not run when that ends', async () => {
    run = async () => 1_000;
    task.start();
    await pass(0);
    idle.isOn = true;
    await pass(1_000);
    await task.stop();
    idle.end();
    await pass(60_000);
    expect(runs).toBe(1);
  });

  it('stops with its present run, and does not begin another', async () => {
    const gate = signal<number>();
    run = () => gate.promise;
    task.start();
    await pass(0);
    task.runNow();
    const stopped = task.stop().then(() => told.push('stopped'));
    await pass(1_000);
    expect(told).toEqual([]);
    gate.resolve(0);
    await stopped;
    task.runNow();
    await pass(60_000);
    expect(runs).toBe(1);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a node that is idle', () => {
  it('hears of what comes up, and knows for how long nothing has', async () => {
    const idle = new Idle(60_000);
    const told: string[] = [];
    const over = () => void idle.over.next.then(() => told.push('over'));
    over();
    await pass(1_000);
    expect(idle.calmForMs).toBe(1_000);
    idle.disturb();
    idle.end();
    await pass(5);
    expect([told, idle.calmForMs, idle.isOn]).toEqual([[], 5, false]);
    idle.isOn = true;
    expect([idle.isOn, idle.calmForMs]).toEqual([true, 5]);
    idle.disturb();
    expect([idle.calmForMs, idle.isOn]).toEqual([0, false]);
    await pass(0);
    expect(told).toEqual(['over']);
    over();
    idle.end();
    await pass(0);
    expect(told).toEqual(['over']);
    idle.isOn = true;
    idle.end();
    await pass(0);
    expect([told, idle.isOn]).toEqual([['over', 'over'], false]);
  });
});

it('a pause of one task ends when another works again, or by itself', async () => {
  const events = new DelayEvents();
  const [first, second] = [new TaskHealth(events, 'claim'), new TaskHealth(events, 'load')];
  const ended: string[] = [];
  const pause = (ms: number, name: string) => first.pause(ms).then(() => ended.push(name));
  void pause(1_000, 'by itself');
  await pass(1_000);
  expect(ended).toEqual(['by itself']);
  void pause(3_600_000, 'by another');
  second.failed(new Error('down'));
  second.worked();
  await pass(0);
  expect(ended).toEqual(['by itself', 'by another']);
  expect(jest.getTimerCount()).toBe(0);
});

describe('a trigger', () => {
  let trigger: Trigger;

  beforeEach(() => {
    trigger = new Trigger(() => (runs += 1));
  });

  it('that pauses works at once when it resumes, and one that does not is left alone', async () => {
    trigger.pauseFor(3_600_000);
    trigger.trigger();
    expect(await runsIn(1_000)).toBe(0);
    trigger.resume();
    expect(await runsIn(0)).toBe(1);
    trigger.resume();
    expect(await runsIn(3_600_000)).toBe(0);
  });

  it('works once for all who ask in a turn, and again in the next', async () => {
    for (let asked = 0; asked < 3; asked += 1) trigger.trigger();
    expect(runs).toBe(0);
    expect(await runsIn(0)).toBe(1);
    trigger.trigger();
    expect([await runsIn(0), await runsIn(10_000)]).toEqual([1, 0]);
  });

  it('forgets an earlier time for a later one, a sooner one, and for none', async () => {
    trigger.triggerIn(10);
    trigger.triggerIn(20);
    expect([await runsIn(19), await runsIn(1)]).toEqual([0, 1]);
    trigger.triggerIn(20);
    trigger.triggerIn(10);
    expect([await runsIn(10), await runsIn(10_000)]).toEqual([1, 0]);
    trigger.triggerIn(10);
    trigger.triggerIn(Infinity);
    expect(await runsIn(10_000)).toBe(0);
  });

  it('pauses as long as it was told first, whoever asks, and works then', async () => {
    trigger.pauseFor(100);
    trigger.pauseFor(1_000);
    trigger.trigger();
    trigger.triggerIn(10);
    expect([await runsIn(99), await runsIn(1), await runsIn(10_000)]).toEqual([0, 1, 0]);
  });

  it('does nothing more once it is stopped', async () => {
    const ask = (): void => {
      trigger.trigger();
      trigger.triggerIn(10);
      trigger.pauseFor(20);
    };
    ask();
    trigger.stop();
    ask();
    expect(jest.getTimerCount()).toBe(0);
    expect(await runsIn(10_000)).toBe(0);
  });
});

describe('a paced task', () => {
  it('works at once for the first who asks, and once for all who ask before the pause is over', () => {
    const paced = new Paced(() => (runs += 1), 50);
    paced.ask();
    expect(runs).toBe(1);
    for (let ms = 0; ms < 49; ms += 1) {
      paced.ask();
      jest.advanceTimersByTime(1);
    }
    expect(runs).toBe(1);
    jest.advanceTimersByTime(1);
    expect(runs).toBe(2);
    jest.advanceTimersByTime(1_000);
    expect(runs).toBe(2);
    paced.ask();
    expect(runs).toBe(3);
  });

  it('does not work after it is stopped', () => {
    const paced = new Paced(() => (runs += 1), 50);
    paced.ask();
    paced.ask();
    paced.stop();
    paced.ask();
    jest.advanceTimersByTime(1_000);
    paced.ask();
    expect([runs, jest.getTimerCount()]).toEqual([1, 0]);
  });
});

it('what is late is told so in time, and is nobody’s unhandled rejection later', async () => {
  const unhandled = jest.fn();
  process.on('unhandledRejection', unhandled);
  const work = signal();
  const said: unknown[] = [];
  void within(work.promise, 1_000).then((answer) => said.push(answer));
  await pass(999);
  expect(said).toEqual([]);
  await pass(1);
  expect(said).toEqual([LATE]);
  work.reject(new Error('too late'));
  await new Promise(setImmediate);
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
  void within(Promise.resolve(), 1_000);
  await pass(0);
  expect(jest.getTimerCount()).toBe(0);
});

const fullMs = (growth: Growth, times: number): number => pauseMs(growth, times, () => 0);

it('pauses grow from the first to the last, cut by no more than their random share', () => {
  const doubling: Growth = { firstMs: 100, factor: 2, lastMs: 1_000, jitter: 0.5 };
  const full = [1, 2, 3, 4, 5, 100_000].map((times) => fullMs(doubling, times));
  expect(full).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(fullMs({ ...doubling, firstMs: 0 }, 100_000)).toBe(0);

  const growths: fc.Arbitrary<Growth> = fc.record({
    firstMs: fc.integer({ min: 1, max: 10_000 }),
    factor: fc.double({ min: 1, max: 100, noNaN: true }),
    lastMs: fc.integer({ min: 10_000, max: 10_000_000 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const given = fc.tuple(growths, fc.integer({ min: 1, max: 100_000 }), random);
  fc.assert(
    fc.property(given, ([growth, times, part]) => {
      const longestMs = fullMs(growth, times);
      expect(longestMs).toBeLessThanOrEqual(fullMs(growth, times + 1));
      expect(longestMs).toBeLessThanOrEqual(growth.lastMs);
      const waitMs = pauseMs(growth, times, () => part);
      expect(waitMs).toBeLessThanOrEqual(longestMs);
      expect(waitMs).toBeGreaterThanOrEqual(longestMs * (1 - growth.jitter));
    }),
  );
});

it('invariants are checked in tests, and name what was seen', () => {
  expect(CHECKED).toBe(true);
  expect(() => invariant(true, 'sizes', 1)).not.toThrow();
  expect(() => invariant(false, 'sizes', 1, 'a')).toThrow('invariant broken: sizes (1, a)');
});
