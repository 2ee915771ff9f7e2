import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Pump } from '../../../src/delay-queue/tasks/trigger.js';

let runs: number;
let pump: Pump;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
  runs = 0;
  pump = new Pump(() => (runs += 1));
});

afterEach(() => {
  pump.stop();
  jest.useRealTimers();
});

/** @returns how often it has worked meanwhile, the turns after it included */
const runsIn = async (ms: number): Promise<number> => {
  const before = runs;
  jest.advanceTimersByTime(ms);
  await new Promise(setImmediate);
  return runs - before;
};

describe('Pump', () => {
  it('works once for all who ask in a turn, and again in the next', async () => {
    for (let asked = 0; asked < 3; asked += 1) pump.kick();
    expect(runs).toBe(0);
    expect(await runsIn(0)).toBe(1);
    pump.kick();
    expect(await runsIn(0)).toBe(1);
    expect(await runsIn(10_000)).toBe(0);
  });

  it('kicks itself when the time has come, once', async () => {
    pump.kickIn(10);
    expect([await runsIn(9), await runsIn(1), await runsIn(10_000)]).toEqual([0, 1, 0]);
  });

  it('forgets an earlier time for a later one, a sooner one, and for none', async () => {
    pump.kickIn(10);
    pump.kickIn(20);
    expect([await runsIn(19), await runsIn(1)]).toEqual([0, 1]);
    pump.kickIn(20);
    pump.kickIn(10);
    expect([await runsIn(10), await runsIn(10_000)]).toEqual([1, 0]);
    pump.kickIn(10);
    pump.kickIn(Infinity);
    expect(await runsIn(10_000)).toBe(0);
  });

  it('rests as long as it was told first, whoever asks, and works then', async () => {
    pump.restFor(100);
    pump.restFor(1_000);
    pump.kick();
    pump.kickIn(10);
    expect([await runsIn(99), await runsIn(1), await runsIn(10_000)]).toEqual([0, 1, 0]);
  });

  it('does nothing more once it is stopped', async () => {
    pump.kick();
    pump.kickIn(10);
    pump.restFor(20);
    pump.stop();
    expect(jest.getTimerCount()).toBe(0);
    pump.kick();
    pump.kickIn(10);
    pump.restFor(20);
    expect(jest.getTimerCount()).toBe(0);
    expect(await runsIn(10_000)).toBe(0);
  });
});
