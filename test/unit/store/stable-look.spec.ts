import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayUnstableError } from '../../../src/delay-queue/core/api/errors.js';
import { orHeld, untilStable } from '../../../src/delay-queue/core/store/held-rows.js';
import { HELD_MAX_MS } from '../../../src/delay-queue/core/store/sql/fragments/clock.js';
import type { Runner } from '../../../src/delay-queue/core/database/runner.js';

/** By `performance.now()`: a look takes so long. */
let nowMs: number;
let lookMs: number;
let looks: number;

beforeEach(() => {
  [nowMs, lookMs, looks] = [1_000, 0, 0];
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  // Pauses are at their shortest, and cost no time that counts.
  jest.spyOn(Math, 'random').mockReturnValue(0.999);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** @param answersAt the look that is answered */
const look =
  (answersAt = Infinity) =>
  async (): Promise<string | undefined> => {
    looks += 1;
    nowMs += lookMs;
    return looks === answersAt ? 'stable' : undefined;
  };

describe('a look', () => {
  it('is repeated for as long as a row may be held, however many quick ones that are', async () => {
    lookMs = 100;
    const given = untilStable(look(), 2_000);
    await expect(given).rejects.toThrow(DelayUnstableError);
    expect(looks).toBe(20);
  });

  it('is repeated ten times at least, however long each takes', async () => {
    lookMs = 5_000;
    await expect(untilStable(look(10), 2_000)).resolves.toBe('stable');
    looks = 0;
    await expect(untilStable(look(11), 2_000)).rejects.toThrow(DelayUnstableError);
    expect(looks).toBe(10);
  });

  it('is answered by the first that is stable', async () => {
    await expect(untilStable(look(1), 0)).resolves.toBe('stable');
    expect(looks).toBe(1);
  });

  it('waits ten seconds for what another transaction holds', () => {
    expect(HELD_MAX_MS).toBe(10_000);
  });
});

const wait = (runner: Partial<Runner>, error: Error): Promise<never> =>
  orHeld(runner as Runner, 2_000, () => Promise.reject(error));

describe('a row that is held', () => {
  const held = Object.assign(new Error('lock timeout'), { code: '55P03' });

  it('is told of as such where the limit was ours, and as the database says it elsewhere', async () => {
    await expect(wait({}, held)).rejects.toThrow(DelayUnstableError);
    await expect(wait({ transaction: 'callers' }, held)).rejects.toBe(held);
    const other = new Error('other');
    await expect(wait({}, other)).rejects.toBe(other);
  });
});
