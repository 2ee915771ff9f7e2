import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { HeldClaim } from '../../../src/delay-queue/settlement/held-claim.js';
import { InFlight } from '../../../src/delay-queue/settlement/in-flight.js';

const claim = (id: number, epoch: number): HeldClaim => ({ id, epoch }) as HeldClaim;

let inFlight: InFlight;

beforeEach(() => {
  jest.useFakeTimers();
  inFlight = new InFlight();
});

afterEach(() => {
  jest.useRealTimers();
});

describe('InFlight', () => {
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

  it('is waited for no longer than the caller says', async () => {
    inFlight.add(claim(1, 1));
    const waited = inFlight.whenIdle(1_000);
    await jest.advanceTimersByTimeAsync(1_000);
    await waited;
    expect(inFlight.size).toBe(1);
  });
});
