import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Trigger } from '../../../src/delay-queue/tasks/trigger.js';

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

describe('Trigger', () => {
  it('works once for all who ask in a turn, and again in the next', async () => {
    for (let asked = 0; asked < 3; asked += 1) trigger.trigger();
    expect(runs).toBe(0);
    expect(await runsIn(0)).toBe(1);
    trigger.trigger();
    expect(await runsIn(0)).toBe(1);
    expect(await runsIn(10_000)).toBe(0);
  });

  it('triggers itself when the time has come, once', async () => {
    trigger.triggerIn(10);
    expect([await runsIn(9), await runsIn(1), await runsIn(10_000)]).toEqual([0, 1, 0]);
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
