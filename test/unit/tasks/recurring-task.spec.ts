import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import { RecurringTask } from '../../../src/delay-queue/tasks/recurring-task.js';
import { Trouble } from '../../../src/delay-queue/tasks/trouble.js';
import { signal } from '../../support/delay-node.js';

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

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('RecurringTask', () => {
  it('runs again after the pause that its run asked for', async () => {
    task.start(500);
    await pass(499);
    expect(runs).toBe(0);
    await pass(1);
    expect(runs).toBe(1);
    await pass(999);
    expect(runs).toBe(1);
    await pass(1);
    expect(runs).toBe(2);
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
