import { describe, expect, it } from '@jest/globals';
import type { RaceOptions } from '../../../../src/demo/race/command-line.js';
import { LEASE_MS, planOf } from '../../../../src/demo/race/plan.js';

const SIZES = [
  { orders: 10, processes: 2 },
  { orders: 41, processes: 2 },
  { orders: 500, processes: 3 },
  { orders: 2_000, processes: 8 },
].flatMap((size) => [0, 1, 2, 3, 4].map((seed) => ({ ...size, seed })));

const planned = (options: Omit<RaceOptions, 'closer'>) =>
  planOf({ closer: 'delay-queue', ...options });

describe('the plan of a race', () => {
  it('is the same for the same seed, and another one for another', () => {
    const options = { orders: 50, processes: 3, seed: 7 };
    expect(planned(options)).toEqual(planned(options));
    expect(planned(options)).not.toEqual(planned({ ...options, seed: 8 }));
  });

  it.each(SIZES)('pays half of the orders before and half after: %j', (options) => {
    const offsets = planned(options).orders.flatMap(({ payOffsetMs }) => payOffsetMs ?? []);
    expect(offsets).toHaveLength(options.orders);
    expect(offsets.filter((offsetMs) => offsetMs < 0)).toHaveLength(Math.ceil(options.orders / 2));
    for (const offsetMs of offsets) expect(Math.abs(offsetMs)).toBeLessThanOrEqual(8);
  });

  it.each(SIZES)('pauses one for longer than a lease and kills another one: %j', (options) => {
    const { pause, kill, windowMs } = planned(options);
    expect(pause.process).not.toBe(kill.process);
    expect(pause.forMs).toBeGreaterThan(LEASE_MS);
    expect(pause.afterMs).toBeLessThan(kill.afterMs);
    expect(kill.afterMs).toBeLessThan(windowMs);
  });

  it.each(SIZES)('leaves an unpaid order to the killed process after its death: %j', (options) => {
    const { orders, kill } = planned(options);
    const later = orders.filter(
      ({ home, placeAfterMs, payOffsetMs }) =>
        home === kill.process && payOffsetMs === null && placeAfterMs > kill.afterMs,
    );
    expect(later.length).toBeGreaterThan(0);
  });

  it.each(SIZES)('has placed all before the first one closes: %j', (options) => {
    const { orders, payWithinMs } = planned(options);
    const lastMs = Math.max(...orders.map(({ placeAfterMs }) => placeAfterMs));
    expect(lastMs).toBeLessThan(payWithinMs);
  });
});
