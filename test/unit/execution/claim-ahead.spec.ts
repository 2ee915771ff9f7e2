import { beforeEach, describe, expect, it } from '@jest/globals';
import { ClaimAhead } from '../../../src/delay-queue/execution/places/claim-ahead.js';
import type { Handler } from '../../../src/delay-queue/handlers/handler.js';
import { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';
import type { Entry } from '../../../src/delay-queue/intake/entry.js';

const CLAIM_BATCH = 500;

let ahead: ClaimAhead;

const SIMPLE = { batch: null, limits: null, transactional: false, concurrency: 10, maxAttempts: 3 };
const entry = (odd: Partial<Entry> = {}): Entry =>
  ({ name: 'a', failed: false, stalled: false, ...odd }) as Entry;

beforeEach(() => {
  const registry = new HandlerRegistry();
  const limits = { all: { concurrency: 1, burst: 0 } };
  const odd = {
    one: { concurrency: 1 },
    b: { batch: 5 },
    t: { transactional: true },
    l: { limits },
    m: { maxAttempts: 1 },
  };
  registry.add({ ...SIMPLE, name: 'a' } as Handler);
  for (const [name, each] of Object.entries(odd)) {
    registry.add({ ...SIMPLE, name, ...each } as unknown as Handler);
  }
  ahead = new ClaimAhead(registry, CLAIM_BATCH);
});

const took = (ms: number, times = 1, atOnce = false): void => {
  for (let n = 0; n < times; n += 1) ahead.took('a', ms, atOnce);
};

describe('how many may be claimed ahead', () => {
  it('none before it is known how long a call takes', () => {
    expect(ahead.roomFor('a')).toBe(0);
  });

  it.each([
    ['of ten milliseconds, at ten places: twenty', 10, 20],
    ['of four milliseconds: fifty', 4, 50],
    ['of nearly 20 ms: ten', 19, 10],
    ['of 20 ms: none', 20, 0],
    ['of seconds: none', 5_000, 0],
    ['of next to nothing: those of one claim', 0.001, CLAIM_BATCH],
  ])('calls %s', (_, ms, room) => {
    took(ms);
    expect(ahead.roomFor('a')).toBe(room);
  });

  it('calls that have the process for themselves run one at a time', () => {
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
    for (let n = 0; n < 11; n += 1) {
      ahead.ask('a');
      ahead.answered('a');
    }
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
  expect(ahead.isTurnOfOthers('one')).toBe(false);
  for (const name of ['one', 'a']) ahead.ask(name);
  expect(ahead.isTurnOfOthers('a')).toBe(false);
  expect(ahead.isTurnOfOthers('one')).toBe(true);
  ahead.answered('one');
  expect(ahead.isTurnOfOthers('one')).toBe(false);
});

describe('who may wait', () => {
  it('delays whose handler takes one, without a transaction or limits', () => {
    expect(ahead.mayWait(entry())).toBe(true);
  });

  it.each([
    ['of a batch handler', { name: 'b' }],
    ['in a transaction', { name: 't' }],
    ['with limits on all nodes', { name: 'l' }],
    ['with one attempt', { name: 'm' }],
    ['of a name that nobody here runs', { name: 'x' }],
    ['that failed before', { failed: true }],
    ['whose attempt ended without a word', { stalled: true }],
  ])('not those %s', (_, odd) => {
    expect(ahead.mayWait(entry(odd))).toBe(false);
  });
});
