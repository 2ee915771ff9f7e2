import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { cronIn, everyMs } from '../../../src/delay-queue/recurrence/recurrence.js';

it('a period counts from the first instant, wherever it is asked', () => {
  const instants = everyMs(1_000, 10_000);
  expect([0, 9_999, 10_000, 10_999, 11_000].map((ms) => instants.after(ms))).toEqual([
    10_000, 10_000, 11_000, 11_000, 12_000,
  ]);
  expect([9_999, 10_000, 10_999].map((ms) => instants.by(ms))).toEqual([undefined, 10_000, 10_000]);
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
