import * as fc from 'fast-check';
import { expect, it, jest } from '@jest/globals';
import { DatabaseClock } from '../../../src/delay-queue/database/database-clock.js';
import { Occurrence } from '../../../src/delay-queue/recurrence/occurrence.js';
import type { StoredRepeat } from '../../../src/delay-queue/recurrence/recurrence.js';

const PERIOD_MS = 1_000;

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
