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

  it.each(SIZES)('pays half in time, pauses one, kills another one: %j', (options) => {
    const { orders, pause, kill, windowMs, payWithinMs } = planned(options);
    const offsets = orders.flatMap(({ payOffsetMs }) => payOffsetMs ?? []);
    expect(offsets).toHaveLength(options.orders);
    expect(offsets.filter((offsetMs) => offsetMs < 0)).toHaveLength(Math.ceil(options.orders / 2));
    expect(pause.process).not.toBe(kill.process);
    expect(pause.forMs).toBeGreaterThan(LEASE_MS);
    expect([pause.afterMs, kill.afterMs, windowMs].toSorted((a, b) => a - b)).toEqual([
      pause.afterMs,
      kill.afterMs,
      windowMs,
    ]);
    // Somebody's close is due when the killed process is dead.
    const orphans = orders.filter(
      ({ home, placeAfterMs, payOffsetMs }) =>
        home === kill.process && payOffsetMs === null && placeAfterMs > kill.afterMs,
    );
    expect(orphans).not.toEqual([]);
    expect(Math.max(...orders.map(({ placeAfterMs }) => placeAfterMs))).toBeLessThan(payWithinMs);
  });
});
