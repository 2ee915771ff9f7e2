import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Attempt } from '../../../src/delay-queue/worker/attempt.js';
import { InFlight, LostClaims } from '../../../src/delay-queue/worker/claims.js';

const claim = (id: number, epoch: number): Attempt => ({ id, epoch }) as Attempt;

describe('claims in flight', () => {
  let inFlight: InFlight;

  beforeEach(() => {
    jest.useFakeTimers();
    inFlight = new InFlight();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it.each([
    ['in their order', [2, 3]],
    // An attempt may end just after the one that follows it.
    ['the later one first', [3, 2]],
  ])('%s cover what was read of them and before, each beside the other', (_, epochs) => {
    const all = epochs.map((epoch) => claim(1, epoch));
    for (const each of [...all, ...all]) inFlight.add(each);
    const [earlier, later] = all.toSorted((a, b) => a.epoch - b.epoch) as [Attempt, Attempt];
    expect([2, 3, 4].map((epoch) => inFlight.covers(1, epoch))).toEqual([true, true, false]);
    expect(inFlight.covers(2, 3)).toBe(false);
    expect([inFlight.all(), inFlight.size]).toEqual([[later, earlier], 2]);
    inFlight.delete(earlier);
    expect(inFlight.all()).toEqual([later]);
    inFlight.delete(later);
    expect(inFlight.size).toBe(0);
  });

  it('hear of an abort that is for that very claim, and of the end of the node', () => {
    const heard: string[] = [];
    for (const [id, epoch] of [
      [1, 1],
      [1, 2],
      [2, 1],
    ] as const) {
      const say = (what: string) => () => heard.push(`${what} ${id} ${epoch}`);
      const holder = { abort: say('abort'), close: say('close') };
      inFlight.add(Object.assign(claim(id, epoch), { holder }));
    }
    inFlight.abort([1, 2, 3].map((id) => ({ id, epoch: 2 })));
    expect(heard).toEqual(['abort 1 2']);
    inFlight.close();
    expect(heard.slice(1).toSorted()).toEqual(['close 1 1', 'close 1 2', 'close 2 1']);
  });

  it('are waited for until the last is gone, by everybody who waits', async () => {
    await inFlight.whenIdle(60_000);
    const [one, other] = [claim(1, 1), claim(2, 1)];
    for (const each of [one, other]) inFlight.add(each);
    let idle = 0;
    const waits = [60_000, 120_000].map((ms) => inFlight.whenIdle(ms).then(() => (idle += 1)));
    inFlight.delete(one);
    await jest.advanceTimersByTimeAsync(0);
    expect(idle).toBe(0);
    inFlight.delete(other);
    await Promise.all(waits);
    expect(jest.getTimerCount()).toBe(0);
  });
});

it('claims without an answer are remembered until their row goes on, the latest, so many at most', () => {
  const lost = new LostClaims();
  for (const [id, epoch] of [
    [1, 5],
    [2, 5],
    [3, 5],
    [3, 7],
  ] as const)
    lost.add(id, epoch);
  lost.forget(1);
  expect([lost.has(1, 5), lost.has(2, 5), lost.has(3, 5), lost.has(3, 7)]).toEqual([
    false,
    true,
    false,
    true,
  ]);
  expect([lost.has(2, 6), lost.has(2, 5)]).toEqual([false, false]);
  for (let id = 4; id <= 20_003; id += 1) lost.add(id, 1);
  expect([lost.has(3, 7), lost.has(4, 1), lost.has(20_003, 1)]).toEqual([false, true, true]);
  // Claimed again, it is the newest.
  lost.add(4, 2);
  lost.add(20_004, 1);
  expect([lost.has(4, 2), lost.has(5, 1)]).toEqual([true, false]);
});
