import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import { RecurringTask } from '../../../src/delay-queue/tasks/recurring-task.js';
import { Trouble } from '../../../src/delay-queue/tasks/trouble.js';
import { signal } from '../../support/delay-node.js';
import { Trigger } from '../../../src/delay-queue/tasks/trigger.js';
import { LATE, within } from '../../../src/delay-queue/tasks/within.js';
import * as fc from 'fast-check';
import { type Growth, pauseMs } from '../../../src/delay-queue/tasks/growing-pause.js';

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('RecurringTask', () => {
  let runs: number;
  let run: () => Promise<number>;
  let troubles: unknown[];
  let recovered: number;
  let task: RecurringTask;

  beforeEach(() => {
    jest.useFakeTimers();
    runs = 0;
    troubles = [];
    recovered = 0;
    run = async () => 1_000;
    const events = new DelayEvents();
    events.on('trouble', ({ error }) => troubles.push(error));
    events.on('recovered', () => (recovered += 1));
    task = new RecurringTask(
      () => {
        runs += 1;
        return run();
      },
      new Trouble(events, 'load'),
    );
  });

  afterEach(async () => {
    await task.stop();
    jest.useRealTimers();
  });

  it('asked to run now, runs at once, and right after the present run, but never twice at a time', async () => {
    const gate = signal<number>();
    run = () => gate.promise;
    task.start();
    await pass(0);
    task.runNow();
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
    expect(troubles).toHaveLength(runs);
    run = async () => 1_000;
    await pass(5_000);
    expect(recovered).toBe(1);
  });

  it('stops with its present run, and does not begin another', async () => {
    const gate = signal<number>();
    run = () => gate.promise;
    task.start();
    await pass(0);
    task.runNow();
    const stopped = task.stop();
    gate.resolve(0);
    await stopped;
    task.runNow();
    await pass(60_000);
    expect(runs).toBe(1);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('Trigger', () => {
  let runs: number;
  let trigger: Trigger;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
    runs = 0;
    trigger = new Trigger(() => (runs += 1));
  });

  afterEach(() => {
    trigger.stop();
    jest.useRealTimers();
  });

  /** @returns how often it has worked meanwhile, the turns after it included */
  const runsIn = async (ms: number): Promise<number> => {
    const before = runs;
    jest.advanceTimersByTime(ms);
    await new Promise(setImmediate);
    return runs - before;
  };

  it('works once for all who ask in a turn, and again in the next', async () => {
    for (let asked = 0; asked < 3; asked += 1) trigger.trigger();
    expect(runs).toBe(0);
    expect(await runsIn(0)).toBe(1);
    trigger.trigger();
    expect(await runsIn(0)).toBe(1);
    expect(await runsIn(10_000)).toBe(0);
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
    trigger.trigger();
    trigger.triggerIn(10);
    trigger.pauseFor(20);
    trigger.stop();
    expect(jest.getTimerCount()).toBe(0);
    trigger.trigger();
    trigger.triggerIn(10);
    trigger.pauseFor(20);
    expect(jest.getTimerCount()).toBe(0);
    expect(await runsIn(10_000)).toBe(0);
  });
});

describe('within', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const never = new Promise<never>(() => {});

  it('is late after that time, and not before', async () => {
    let answer: unknown;
    void within(never, 1_000).then((said) => (answer = said));
    await jest.advanceTimersByTimeAsync(999);
    expect(answer).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    expect(answer).toBe(LATE);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('work that fails too late is nobody’s unhandled rejection', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    const work = signal();
    const answer = within(work.promise, 10);
    await jest.advanceTimersByTimeAsync(10);
    expect(await answer).toBe(LATE);
    work.reject(new Error('too late'));
    jest.useRealTimers();
    await new Promise(setImmediate);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

const doubling: Growth = { firstMs: 100, factor: 2, lastMs: 1_000, jitter: 0.5 };

const growths: fc.Arbitrary<Growth> = fc.record({
  firstMs: fc.integer({ min: 1, max: 10_000 }),
  factor: fc.double({ min: 1, max: 100, noNaN: true }),
  lastMs: fc.integer({ min: 10_000, max: 10_000_000 }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
});
const times = fc.integer({ min: 1, max: 100_000 });
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

const fullMs = (growth: Growth, time: number): number => pauseMs(growth, time, () => 0);

describe('pauseMs', () => {
  it('begins with the first and grows until the last', () => {
    expect([1, 2, 3, 4, 5, 100_000].map((time) => fullMs(doubling, time))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
    fc.assert(
      fc.property(growths, times, (growth, time) => {
        expect(fullMs(growth, 1)).toBe(growth.firstMs);
        expect(fullMs(growth, time + 1)).toBeGreaterThanOrEqual(fullMs(growth, time));
      }),
    );
  });

  it('is never above the last, and cut by no more than its random share', () => {
    fc.assert(
      fc.property(growths, times, randoms, (growth, time, random) => {
        const waitMs = pauseMs(growth, time, () => random);
        const longestMs = fullMs(growth, time);
        expect(longestMs).toBeLessThanOrEqual(growth.lastMs);
        expect(waitMs).toBeLessThanOrEqual(longestMs);
        expect(waitMs).toBeGreaterThanOrEqual(longestMs * (1 - growth.jitter));
      }),
    );
  });
});
