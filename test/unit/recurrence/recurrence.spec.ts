import { describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { CatchUp } from 'nestjs-delay-queue';
import { DatabaseClock } from '../../../src/delay-queue/core/database/database-clock.js';
import { Occurrence, readOccurrence } from '../../../src/delay-queue/core/recurrence/occurrence.js';
import {
  MISSED_AFTER_MS,
  Recurrence,
  type StoredRepeat,
} from '../../../src/delay-queue/core/recurrence/recurrence.js';
import { cronIn, everyMs } from '../../../src/delay-queue/core/recurrence/instants.js';

const HOUR = 3_600_000;

const FROM = 100 * HOUR;

const hourly = (catchUp: CatchUp): Recurrence =>
  new Recurrence({ every: HOUR, from: FROM, catchUp });

/** Hours are those since the first instant. */
const at = (hour: number): number => FROM + hour * HOUR;

it('what is skipped is each instant from the row on up to the next one, but those that ran', () => {
  const rows = fc.record({ due: fc.nat(40), late: fc.nat(40), isMissed: fc.boolean() });
  const catchUps = fc.constantFrom<CatchUp>('latest', 'none');
  fc.assert(
    fc.property(catchUps, rows, (catchUp, { due, late, isMissed }) => {
      const recurrence = hourly(catchUp);
      const nowMs = at(due + late) + 1;
      const ranMs = recurrence.standsFor(at(due), nowMs);
      const nextMs = recurrence.nextMs(ranMs, nowMs)!;
      const all = Array.from({ length: 100 }, (_, hour) => at(hour));
      const left = all.filter((ms) => ms >= at(due) && ms < nextMs && (isMissed || ms !== ranMs));
      const wanted =
        left.length === 0 ? undefined : { count: left.length, fromMs: left[0], toMs: left.at(-1) };
      expect(recurrence.skipped(at(due), isMissed ? undefined : ranMs, nextMs)).toEqual(wanted);
    }),
  );
  expect(hourly('none').skipped(at(0), at(0), at(5_000))).toMatchObject({ count: 1_000 });
  // Each instant of a cron expression is searched for.
  const daily = new Recurrence({ cron: '0 9 * * *', timeZone: 'UTC', catchUp: 'none' });
  expect(daily.skipped(at(9), undefined, at(24 * 99))).toMatchObject({ count: 25 });
  expect(hourly('each').skipped(at(0), undefined, at(9))).toBeUndefined();
});

it('ends at its limit or its last instant, whichever comes first, however late its runs are', () => {
  const ends = fc.record({
    until: fc.option(fc.nat(20)),
    limit: fc.option(fc.integer({ min: 1, max: 20 })),
  });
  const catchUps = fc.constantFrom<CatchUp>('latest', 'each', 'none');
  const lates = fc.array(fc.nat(4), { minLength: 30, maxLength: 30 });
  fc.assert(
    fc.property(catchUps, ends, lates, (catchUp, { until, limit }, late) => {
      fc.pre(until !== null || limit !== null);
      const last = until === null ? {} : { until: at(until) };
      let repeat: StoredRepeat = { every: HOUR, from: FROM, catchUp, ...last };
      if (limit !== null) repeat.limit = limit;
      const ran: number[] = [];
      let [dueMs, nowMs]: [number | undefined, number] = [FROM, FROM];
      for (let nth = 0; dueMs !== undefined; nth += 1) {
        nowMs = Math.max(nowMs, dueMs) + (late[nth] ?? 0) * HOUR;
        const occurrence = new Occurrence(repeat, dueMs, { readMs: nowMs, leastMs: () => nowMs });
        const how = occurrence.isMissed ? 'missed' : 'ran';
        if (how === 'ran') ran.push((occurrence.dueMs - FROM) / HOUR);
        const goesOn = occurrence.goesOn(how);
        repeat = { ...repeat, ...goesOn.more };
        dueMs = goesOn.nextMs;
      }
      expect(ran.length).toBeLessThanOrEqual(limit ?? Infinity);
      expect(ran.every((hour) => hour <= (until ?? Infinity))).toBe(true);
      expect(new Set(ran).size).toBe(ran.length);
      const all = Math.min(limit ?? Infinity, (until ?? Infinity) + 1);
      const each = Array.from({ length: all }, (_, hour) => hour);
      expect(catchUp === 'each' ? ran : each).toEqual(each);
      const endsByInstant = catchUp === 'latest' && ran.length < (limit ?? Infinity);
      expect(endsByInstant ? ran.at(-1) : until).toBe(until);
    }),
  );
});

const isMissed = (catchUp: CatchUp, lateMs: number): boolean =>
  hourly(catchUp).isMissed(FROM, FROM + lateMs);

const PERIOD_MS = 1_000;

const EVERY: StoredRepeat = { every: PERIOD_MS, from: 0, catchUp: 'latest' };

const NOW_MS = 1_000_000;

const CLOCK = { readMs: NOW_MS, leastMs: () => NOW_MS };

const of = (more: object) => new Occurrence({ ...EVERY, ...more }, NOW_MS, CLOCK);

describe('after a run', () => {
  it.each<[CatchUp, what: string, due: number, now: number, next: number]>([
    ['each', 'goes on with the next one, also when it is past', 3, 7.5, 4],
    ['latest', 'goes on with the last one that came meanwhile', 3, 7.5, 7],
    ['latest', 'that ends at an instant goes on with that one', 3, 4, 4],
    ['none', 'goes on with the first one to come', 3, 7.5, 8],
    ['none', 'that ends at an instant leaves that one out', 3, 4, 5],
    ['each', 'at another time goes on with the regular ones', 3.4, 3.5, 4],
    ['latest', 'at another time goes on with the regular ones', 3.4, 3.5, 4],
    ['none', 'at another time goes on with the regular ones', 3.4, 3.5, 4],
    ['latest', 'that this clock sees before it was due goes on behind it', 3, 2.9, 4],
    ['none', 'that this clock sees before it was due goes on behind it', 3, 2.9, 4],
  ])('%s: a run %s', (catchUp, _, due, now, next) => {
    expect(hourly(catchUp).nextMs(at(due), at(now))).toBe(at(next));
  });
});
describe('a run that begins late', () => {
  it.each<[CatchUp, due: number, now: number, standsFor: number]>([
    ['latest', 3, 7.5, 7],
    ['each', 3, 7.5, 3],
    ['none', 3, 7.5, 3],
    // Never for one before it was due: it was moved there.
    ['latest', 3.4, 3.5, 3.4],
    ['latest', 3, 2.9, 3],
  ])('stands with %s, due at %d and begun at %d, for %d', (catchUp, due, now, standsFor) => {
    expect(hourly(catchUp).standsFor(at(due), at(now))).toBe(at(standsFor));
  });

  it('is missed with `none` alone, after a minute', () => {
    expect([MISSED_AFTER_MS, MISSED_AFTER_MS + 1].map((ms) => isMissed('none', ms))).toEqual([
      false,
      true,
    ]);
    expect([isMissed('latest', 10 * HOUR), isMissed('each', 10 * HOUR)]).toEqual([false, false]);
  });
});

describe('the instants of a rule', () => {
  it('a period counts from the first instant, wherever it is asked', () => {
    const instants = everyMs(1_000, 10_000);
    expect([0, 9_999, 10_000, 10_999, 11_000].map((ms) => instants.after(ms))).toEqual([
      10_000, 10_000, 11_000, 11_000, 12_000,
    ]);
    expect([9_999, 10_000, 10_999].map((ms) => instants.by(ms))).toEqual([
      undefined,
      10_000,
      10_000,
    ]);
  });
  // In Berlin, 02:00 to 03:00 on 29 March does not exist: 01:00Z is 03:00 there. 02:30 on 25 October is 00:30Z and 01:30Z.
  describe('a wall clock that changes', () => {
    it.each([
      [
        'keeps the time of day',
        '0 9 * * *',
        ['2026-03-28T08:00', '2026-03-29T07:00', '2026-03-30T07:00'],
      ],
      [
        'has a fixed time of the missing hour at its end, once',
        '0,30 2 * * *',
        ['2026-03-29T01:00', '2026-03-30T00:00'],
      ],
      [
        'has a fixed time of two equal hours in the first, once',
        '30 2 * * *',
        ['2026-10-25T00:30', '2026-10-26T01:30'],
      ],
      [
        'loses none of several fixed times',
        '30 2,4 * * *',
        ['2026-03-29T01:00', '2026-03-29T02:30', '2026-03-30T00:30'],
      ],
      [
        'doubles none of several fixed times',
        '30 2,4 * * *',
        ['2026-10-25T00:30', '2026-10-25T03:30', '2026-10-26T01:30'],
      ],
      [
        'goes on with a step in both equal hours',
        '*/30 * * * *',
        ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
      ],
      [
        'leaves the missing hour out with a step',
        '0 * * * *',
        ['2026-03-29T00:00', '2026-03-29T01:00', '2026-03-29T02:00'],
      ],
    ])('%s: %s', (_, expression, instants) => {
      const cron = cronIn(expression, 'Europe/Berlin');
      const expected = instants.map((text) => Date.parse(`${text}Z`));
      const before = [expected[0]! - 1, ...expected.slice(0, -1)];
      expect(before.map((ms) => cron.after(ms))).toEqual(expected);
    });

    it('says of any moment the same neighbours: the one that has come, and the one to come', () => {
      const expressions = [
        '30 2 * * *',
        '0,30 2 * * *',
        '30 */2 * * *',
        '*/7 1-3 * * *',
        '30 0 * * 0',
      ];
      const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia'];
      // The days around the changes of those zones, and the day that Apia left out.
      const starts = ['2026-03-06', '2026-03-27', '2026-10-03', '2026-10-23', '2011-12-28'];
      const day = fc.constantFrom(...starts).map((start) => Date.parse(start));
      const moment = fc.tuple(day, fc.nat(5 * 86_400_000)).map(([start, ms]) => start + ms);
      const cron = fc.tuple(fc.constantFrom(...expressions), fc.constantFrom(...zones));
      fc.assert(
        fc.property(cron, moment, ([expression, zone], ms) => {
          const instants = cronIn(expression, zone);
          const next = instants.after(ms) as number;
          expect(next).toBeGreaterThan(ms);
          const last = instants.by(ms) as number;
          expect(last).toBeLessThanOrEqual(ms);
          expect(instants.after(last)).toBe(next);
          expect(instants.by(last)).toBe(last);
          expect(instants.by(next - 1)).toBe(last);
        }),
        { numRuns: 150 },
      );
    });
  });
});

describe('the run of an instant', () => {
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
          const { nextMs } = occurrence.goesOn('ran');
          clock.mockRestore();

          expect(occurrence.dueMs).toBeLessThanOrEqual(readMs);
          const next = occurrence.dueMs + PERIOD_MS;
          // It catches up with what has come. What comes while the claim is answered is not taken for missed.
          const earliest = {
            each: next,
            latest: next,
            none: Math.max(next, nowMs - unheardMs - 10),
          };
          const latest = { each: next, latest: nowMs, none: nowMs + PERIOD_MS };
          expect(nextMs).toBeGreaterThanOrEqual(earliest[catchUp]);
          expect(nextMs).toBeLessThanOrEqual(Math.max(next, latest[catchUp]));
        },
      ),
      { numRuns: 500 },
    );
  });
  it('a run knows whether the code declares it, and whether it recurs in a certain way', () => {
    expect([of({}).isDeclared, of({ declared: true }).isDeclared]).toEqual([false, true]);
    expect(of({}).recursAs({ every: PERIOD_MS, catchUp: 'latest' })).toBe(true);
    expect(of({}).recursAs({ every: PERIOD_MS, catchUp: 'latest', limit: 3 })).toBe(true);
    expect(of({}).recursAs({ every: PERIOD_MS, catchUp: 'none' })).toBe(false);
    expect(of({}).recursAs({ cron: '* * * * *', catchUp: 'latest' })).toBe(false);
  });
  it('what does not recur is no occurrence, nor is what this version cannot read', () => {
    expect(readOccurrence(null, NOW_MS, CLOCK)).toBeNull();
    expect(readOccurrence({ often: 1 } as never, NOW_MS, CLOCK)).toBeNull();
    expect(readOccurrence(EVERY, Number.NaN, CLOCK)).toBeNull();
    expect(readOccurrence(EVERY, NOW_MS, CLOCK)?.dueMs).toBe(NOW_MS);
  });
});
