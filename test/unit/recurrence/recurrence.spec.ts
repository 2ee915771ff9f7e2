import { describe, expect, it } from '@jest/globals';
import type { CatchUp } from 'nestjs-delay-queue';
import { MISSED_AFTER_MS, Recurrence } from '../../../src/delay-queue/recurrence/recurrence.js';

const HOUR = 3_600_000;
const FROM = 100 * HOUR;

const hourly = (catchUp: CatchUp): Recurrence =>
  new Recurrence({ every: HOUR, from: FROM, catchUp });

/** In hours since the first instant. */
const next = (catchUp: CatchUp, due: number, now: number): number =>
  (hourly(catchUp).nextMs(FROM + due * HOUR, FROM + now * HOUR) - FROM) / HOUR;
const standsFor = (catchUp: CatchUp, due: number, now: number): number =>
  (hourly(catchUp).standsFor(FROM + due * HOUR, FROM + now * HOUR) - FROM) / HOUR;

const isMissed = (catchUp: CatchUp, lateMs: number): boolean =>
  hourly(catchUp).isMissed(FROM, FROM + lateMs);

describe('after a run', () => {
  const WAYS: [CatchUp, what: string, due: number, now: number, next: number][] = [
    ['each', 'in time goes on an hour later', 3, 3.1, 4],
    ['each', 'goes on with the next one, also when it is past', 3, 7.5, 4],
    ['latest', 'in time goes on an hour later', 3, 3.1, 4],
    ['latest', 'goes on with the last one that came meanwhile', 3, 7.5, 7],
    ['latest', 'that ends at an instant goes on with that one', 3, 4, 4],
    ['none', 'in time goes on an hour later', 3, 3.1, 4],
    ['none', 'goes on with the first one to come', 3, 7.5, 8],
    ['none', 'that ends at an instant leaves that one out', 3, 4, 5],
    ['each', 'at another time goes on with the regular ones', 3.4, 3.5, 4],
    ['latest', 'at another time goes on with the regular ones', 3.4, 3.5, 4],
    ['none', 'at another time goes on with the regular ones', 3.4, 3.5, 4],
    ['latest', 'that this clock sees before it was due goes on behind it', 3, 2.9, 4],
    ['none', 'that this clock sees before it was due goes on behind it', 3, 2.9, 4],
  ];

  it.each(WAYS)('%s: a run %s', (catchUp, _, due, now, expected) => {
    expect(next(catchUp, due, now)).toBe(expected);
  });
});

describe('a run that begins late', () => {
  it('stands for the last instant that has come, with `latest` alone', () => {
    expect(standsFor('latest', 3, 7.5)).toBe(7);
    expect(standsFor('each', 3, 7.5)).toBe(3);
    expect(standsFor('none', 3, 7.5)).toBe(3);
  });

  it('never stands for one before it was due: it was moved there', () => {
    expect(standsFor('latest', 3.4, 3.5)).toBe(3.4);
    expect(standsFor('latest', 3, 2.9)).toBe(3);
  });

  it('is missed with `none` alone, after a minute', () => {
    expect(isMissed('none', MISSED_AFTER_MS)).toBe(false);
    expect(isMissed('none', MISSED_AFTER_MS + 1)).toBe(true);
    expect(isMissed('latest', 10 * HOUR)).toBe(false);
    expect(isMissed('each', 10 * HOUR)).toBe(false);
  });
});

it('what nobody can read throws', () => {
  const unreadable = { cron: 'now', timeZone: 'UTC', catchUp: 'each' } as const;
  expect(() => new Recurrence(unreadable)).toThrow('five, six, or seven');
});
