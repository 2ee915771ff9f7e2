import * as fc from 'fast-check';
import { expect, it, jest } from '@jest/globals';
import { DatabaseClock } from '../../../src/delay-queue/database/database-clock.js';
import {
  Occurrence,
  occurrenceOf,
  type StoredRepeat,
} from '../../../src/delay-queue/recurrence/recurrence.js';
import type { DelayRepeat } from '../../../src/delay-queue/api/delay.js';

const PERIOD_MS = 1_000;
const EVERY: StoredRepeat = { every: PERIOD_MS, from: 0, catchUp: 'latest' };

it('whatever the estimate believes, no run stands for an instant that has not come, and none is left out', () => {
  const ms = fc.integer({ min: 0, max: 20_000 });
  fc.assert(
    fc.property(
      fc.constantFrom('each', 'latest', 'none' as const),
      fc.record({ lateMs: ms, ranMs: ms, unheardMs: fc.integer({ min: 0, max: 300 }) }),
      fc.integer({ min: -500, max: 500 }),
      (catchUp, { lateMs, ranMs, unheardMs }, offMs) => {
        // By `performance.now()`, which this clock begins with.
        let nowMs = 5_000;
        const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
        const database = new DatabaseClock();
        database.sample(nowMs, nowMs, nowMs + offMs);
        const repeat: StoredRepeat = { every: PERIOD_MS, from: nowMs, catchUp };
        const dueMs = nowMs;
        nowMs += lateMs;
        const readMs = nowMs;
        nowMs += unheardMs;
        const occurrence = new Occurrence(repeat, dueMs, database.afterReading(readMs, nowMs));
        nowMs += ranMs;
        const { nextMs } = occurrence;
        clock.mockRestore();

        expect(occurrence.dueMs).toBeLessThanOrEqual(readMs);
        const next = occurrence.dueMs + PERIOD_MS;
        // It catches up with what has come. What comes while the claim is answered is not taken for missed.
        const earliest = { each: next, latest: next, none: Math.max(next, nowMs - unheardMs - 10) };
        const latest = { each: next, latest: nowMs, none: nowMs + PERIOD_MS };
        expect(nextMs).toBeGreaterThanOrEqual(earliest[catchUp]);
        expect(nextMs).toBeLessThanOrEqual(Math.max(next, latest[catchUp]));
      },
    ),
    { numRuns: 500 },
  );
});

const NOW_MS = 1_000_000;
const CLOCK = { readMs: NOW_MS, leastMs: () => NOW_MS };

const of = (more: object) => new Occurrence({ ...EVERY, ...more }, NOW_MS, CLOCK);

it('a run knows whether the code declares it, and whether it recurs in a certain way', () => {
  expect([of({}).isDeclared, of({ declared: true }).isDeclared]).toEqual([false, true]);
  expect(of({}).recursAs({ every: PERIOD_MS } as DelayRepeat)).toBe(true);
  expect(of({}).recursAs({ every: PERIOD_MS, catchUp: 'latest' })).toBe(true);
  expect(of({}).recursAs({ every: PERIOD_MS, catchUp: 'none' })).toBe(false);
  expect(of({}).recursAs({ cron: '* * * * *' } as DelayRepeat)).toBe(false);
});

it('what does not recur is no occurrence, nor is what this version cannot read', () => {
  expect(occurrenceOf(null, NOW_MS, CLOCK)).toBeNull();
  expect(occurrenceOf({ often: 1 } as never, NOW_MS, CLOCK)).toBeNull();
  expect(occurrenceOf(EVERY, Number.NaN, CLOCK)).toBeNull();
  expect(occurrenceOf(EVERY, NOW_MS, CLOCK)?.dueMs).toBe(NOW_MS);
});
