import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LATE, within } from '../../../src/delay-queue/tasks/within.js';
import { signal } from '../../support/delay-node.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

const never = new Promise<never>(() => {});

describe('within', () => {
  it('answers what the work answers in time, and leaves no timer', async () => {
    expect(await within(Promise.resolve('done'), 1_000)).toBe('done');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('fails as the work fails in time, and leaves no timer', async () => {
    await expect(within(Promise.reject(new Error('broken')), 1_000)).rejects.toThrow('broken');
    expect(jest.getTimerCount()).toBe(0);
  });

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

  it('keeps the process alive, unless it is told not to', async () => {
    jest.useRealTimers();
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const work = signal();
    const waits = [within(work.promise, 60_000), within(work.promise, 60_000, { ref: false })];
    const refs = timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
    work.resolve();
    await Promise.all(waits);
    timers.mockRestore();
    expect(refs).toEqual([true, false]);
  });
});
