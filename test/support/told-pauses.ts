import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import * as real from '../../src/delay-queue/core/tasks/pauses.js';

/** What the code under test asked for, in place of waiting for it. */
export interface ToldPauses {
  /** Failures in a row, by each pause after one. */
  retries: number[];
  /** Times in a row that something was found locked, by each pause after that. */
  locked: number[];
}

/** To be called before the code under test is imported, which then has to be done with `import()`. */
export function toldPauses(): ToldPauses {
  const told: ToldPauses = { retries: [], locked: [] };
  // Whatever was imported before has the real ones.
  jest.resetModules();
  jest.unstable_mockModule('../../src/delay-queue/core/tasks/pauses.js', () => ({
    ...real,
    retryPauseMs: tells(told.retries),
    lockedPauseMs: tells(told.locked),
    rest: () => turn(),
    pauseMs: () => 0,
  }));
  return told;
}

const tells =
  (times: number[]) =>
  (time: number): number => {
    times.push(time);
    return 0;
  };
