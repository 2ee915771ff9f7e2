import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { cronIn, everyMs, type Instants } from '../../../src/delay-queue/recurrence/instants.js';

/** The instants after that one, as ISO texts. */
function chain(instants: Instants, from: string, count: number): string[] {
  const found: string[] = [];
  let ms: number | undefined = Date.parse(from);
  while (ms !== undefined && found.length < count) {
    ms = instants.after(ms);
    if (ms !== undefined) found.push(new Date(ms).toISOString());
  }
  return found;
}

const BERLIN = 'Europe/Berlin';

describe('every', () => {
  const instants = everyMs(1_000, 10_000);

  it('counts from the first instant, wherever it is asked', () => {
    expect([0, 9_999, 10_000, 10_001, 10_999, 11_000].map((ms) => instants.after(ms))).toEqual([
      10_000, 10_000, 11_000, 11_000, 11_000, 12_000,
    ]);
    expect([9_999, 10_000, 10_999, 11_000].map((ms) => instants.by(ms))).toEqual([
      undefined,
      10_000,
      10_000,
      11_000,
    ]);
  });
});

describe('cron', () => {
  it('keeps the time of day where clocks change', () => {
    expect(chain(cronIn('0 9 * * *', BERLIN), '2026-03-27T12:00:00Z', 3)).toEqual([
      '2026-03-28T08:00:00.000Z',
      '2026-03-29T07:00:00.000Z',
      '2026-03-30T07:00:00.000Z',
    ]);
  });

  it('at a fixed time comes at the end of the hour that is missing, once', () => {
    // 02:00 to 03:00 on 29 March does not exist: 01:00Z is 03:00 there.
    expect(chain(cronIn('30 2 * * *', BERLIN), '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(chain(cronIn('0,30 2 * * *', BERLIN), '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:00:00.000Z',
    ]);
  });

  it('at a fixed time comes in the first of two equal hours, once', () => {
    // 02:30 on 25 October is 00:30Z and 01:30Z.
    const instants = cronIn('30 2 * * *', BERLIN);
    expect(chain(instants, '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
    expect(instants.after(Date.parse('2026-10-25T00:45:00Z'))).toBe(
      Date.parse('2026-10-26T01:30:00Z'),
    );
  });

  it('at several fixed times loses and doubles none', () => {
    const instants = cronIn('30 2,4 * * *', BERLIN);
    expect(chain(instants, '2026-03-28T12:00:00Z', 3)).toEqual([
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T02:30:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(chain(instants, '2026-10-24T12:00:00Z', 3)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T03:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  it('with a step goes on in both equal hours, and leaves a missing one out', () => {
    expect(chain(cronIn('*/30 * * * *', BERLIN), '2026-10-24T23:45:00Z', 5)).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T01:30:00.000Z',
      '2026-10-25T02:00:00.000Z',
    ]);
    expect(chain(cronIn('0 * * * *', BERLIN), '2026-03-28T23:30:00Z', 3)).toEqual([
      '2026-03-29T00:00:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T02:00:00.000Z',
    ]);
  });

  it('says of any moment the same neighbours: the one that has come, and the one to come', () => {
    const expressions = [
      '30 2 * * *',
      '0,30 2 * * *',
      '15 1-4 * * *',
      '30 */2 * * *',
      '*/7 1-3 * * *',
      '0 0 * * *',
      '30 0 * * 0',
    ];
    const zones = [BERLIN, 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC'];
    // The days around the changes of those zones, and the day that Apia left out.
    const starts = ['2026-03-06', '2026-03-27', '2026-10-03', '2026-10-23', '2011-12-28'];
    const moment = fc.tuple(
      fc.constantFrom(...starts).map((day) => Date.parse(`${day}T00:00:00Z`)),
      fc.integer({ min: 0, max: 5 * 86_400_000 }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...expressions),
        fc.constantFrom(...zones),
        moment,
        (expression, zone, [day, within]) => {
          const instants = cronIn(expression, zone);
          const next = instants.after(day + within) as number;
          expect(next).toBeGreaterThan(day + within);
          const last = instants.by(day + within) as number;
          expect(last).toBeLessThanOrEqual(day + within);
          expect(instants.after(last)).toBe(next);
          expect(instants.by(last)).toBe(last);
          expect(instants.by(next - 1)).toBe(last);
        },
      ),
      { numRuns: 300 },
    );
  });
});
