import { beforeEach, describe, expect, it } from '@jest/globals';
import { Prefetch } from '../../../src/delay-queue/worker/admission.js';
import {
  type Handler,
  HandlerRegistry,
} from '../../../src/delay-queue/handlers/handler.registry.js';
import type { Entry } from '../../../src/delay-queue/worker/fair-queue.js';

const CLAIM_BATCH = 500;
const SIMPLE = { batch: null, limits: null, transactional: false, concurrency: 10, maxAttempts: 3 };

/** By name, what is not simple about it. */
const HANDLERS: Record<string, object> = {
  a: {},
  one: { concurrency: 1 },
  batch: { batch: 5 },
  fenced: { transactional: true },
  limited: { limits: { all: { concurrency: 1, burst: 0 } } },
  last: { maxAttempts: 1 },
};

let ahead: Prefetch;

beforeEach(() => {
  const registry = new HandlerRegistry();
  for (const [name, odd] of Object.entries(HANDLERS)) {
    registry.add({ ...SIMPLE, name, ...odd } as Handler);
  }
  ahead = new Prefetch(registry, CLAIM_BATCH);
});

const took = (ms: number, times = 1, atOnce = false): void => {
  for (let n = 0; n < times; n += 1) ahead.took('a', ms, atOnce);
};

describe('how many may be claimed ahead', () => {
  it.each([
    [10, 20],
    [19, 10],
    [20, 0],
    [0.001, CLAIM_BATCH],
  ])('of calls that take %d ms, at ten places: %d', (ms, room) => {
    // Nobody knows yet.
    expect(ahead.roomFor('a')).toBe(0);
    took(ms);
    expect(ahead.roomFor('a')).toBe(room);
  });

  it('of calls that have the process for themselves: those of one place', () => {
    took(1, 1, true);
    expect(ahead.roomFor('a')).toBe(20);
  });

  it('a few that take longer count at once, and are forgotten slowly', () => {
    took(1);
    took(200, 2);
    expect(ahead.roomFor('a')).toBe(0);
    took(1, 10);
    expect(ahead.roomFor('a')).toBeLessThan(20);
    took(1, 100);
    expect(ahead.roomFor('a')).toBeGreaterThan(150);
  });

  it('none until half of those that wait have begun: a claim for each would cost too much', () => {
    took(10);
    for (let n = 0; n < 11; n += 1) ahead.ask('a');
    expect(ahead.roomFor('a')).toBe(0);
    ahead.remove('a');
    expect(ahead.roomFor('a')).toBe(10);
  });

  it('none once others have waited for too long, until calls are quick again', () => {
    took(1);
    ahead.isSlow('a');
    expect(ahead.roomFor('a')).toBe(0);
    took(1);
    expect(ahead.roomFor('a')).toBeGreaterThan(0);
  });
});

it('one at a time: a free place is for those whose claim is on its way', () => {
  const isTurnOfOthers = () => ['one', 'a'].map((name) => ahead.isTurnOfOthers(name));
  expect(isTurnOfOthers()).toEqual([false, false]);
  for (const name of ['one', 'a']) ahead.ask(name);
  expect(isTurnOfOthers()).toEqual([true, false]);
  ahead.answered('one');
  expect(isTurnOfOthers()).toEqual([false, false]);
});

it.each<[boolean, Partial<Entry>]>([
  [true, { name: 'a' }],
  [false, { name: 'a', failed: true }],
  [false, { name: 'a', stalled: true }],
  ...['batch', 'fenced', 'limited', 'last', 'unknown'].map((name): [boolean, { name: string }] => [
    false,
    { name },
  ]),
])('may wait: %p, of %j', (may, odd) => {
  expect(ahead.mayWait({ failed: false, stalled: false, ...odd } as Entry)).toBe(may);
});
