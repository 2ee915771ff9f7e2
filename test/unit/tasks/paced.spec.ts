import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Paced } from '../../../src/delay-queue/core/tasks/trigger.js';

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

it('works at once for the first who asks, and once for all who ask before the pause is over', () => {
  let times = 0;
  const paced = new Paced(() => (times += 1), 50);
  paced.ask();
  expect(times).toBe(1);
  for (let ms = 0; ms < 49; ms += 1) {
    paced.ask();
    jest.advanceTimersByTime(1);
  }
  expect(times).toBe(1);
  jest.advanceTimersByTime(1);
  expect(times).toBe(2);
  jest.advanceTimersByTime(1_000);
  expect(times).toBe(2);
  paced.ask();
  expect(times).toBe(3);
});

it('that is stopped works no more', () => {
  let times = 0;
  const paced = new Paced(() => (times += 1), 50);
  paced.ask();
  paced.ask();
  paced.stop();
  paced.ask();
  jest.advanceTimersByTime(1_000);
  paced.ask();
  expect([times, jest.getTimerCount()]).toEqual([1, 0]);
});
