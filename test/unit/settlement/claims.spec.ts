import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { HeldClaim } from '../../../src/delay-queue/settlement/held-claim.js';
import { InFlight } from '../../../src/delay-queue/settlement/in-flight.js';
import { LostClaims } from '../../../src/delay-queue/settlement/lost-claims.js';

const claim = (id: number, epoch: number): HeldClaim => ({ id, epoch }) as HeldClaim;

describe('InFlight', () => {
  let inFlight: InFlight;

  beforeEach(() => {
    jest.useFakeTimers();
    inFlight = new InFlight();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('covers a claim and all before it, not those after it', () => {
    inFlight.add(claim(1, 3));
    expect([2, 3, 4].map((epoch) => inFlight.covers(1, epoch))).toEqual([true, true, false]);
    expect(inFlight.covers(2, 3)).toBe(false);
  });

  it('keeps the claim of a delay that moved on beside its next one', () => {
    const [earlier, later] = [claim(1, 1), claim(1, 2)];
    inFlight.add(earlier);
    inFlight.add(later);
    expect(new Set(inFlight.all())).toEqual(new Set([earlier, later]));
    inFlight.delete(earlier);
    expect(inFlight.all()).toEqual([later]);
    inFlight.delete(later);
    expect(inFlight.size).toBe(0);
  });

  it('is waited for until the last claim is gone, by everybody who waits', async () => {
    await inFlight.whenIdle(60_000);
    const [one, other] = [claim(1, 1), claim(2, 1)];
    inFlight.add(one);
    inFlight.add(other);
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

describe('claims without an answer', () => {
  it('are forgotten when they are told to be, and when their row has gone on', () => {
    const lost = new LostClaims();
    lost.add(1, 5);
    lost.add(2, 5);
    lost.forget(1);
    expect(lost.has(1, 5)).toBe(false);
    expect(lost.has(2, 6)).toBe(false);
    expect(lost.has(2, 5)).toBe(false);
  });

  it('are of the latest claim of a row', () => {
    const lost = new LostClaims();
    lost.add(1, 5);
    lost.add(1, 7);
    expect([lost.has(1, 5), lost.has(1, 7)]).toEqual([false, true]);
  });

  it('are so many at most: the oldest go', () => {
    const lost = new LostClaims();
    for (let id = 1; id <= 20_001; id += 1) lost.add(id, 1);
    expect([lost.has(1, 1), lost.has(2, 1), lost.has(20_001, 1)]).toEqual([false, true, true]);
  });
});
