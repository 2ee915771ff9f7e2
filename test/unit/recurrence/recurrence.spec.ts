import { describe, expect, it } from '@jest/globals';
import type { CatchUp } from 'nestjs-delay-queue';
import { MISSED_AFTER_MS, Recurrence } from '../../../src/delay-queue/recurrence/recurrence.js';

const HOUR = 3_600_000;
const FROM = 100 * HOUR;

const hourly = (catchUp: CatchUp): Recurrence =>
  new Recurrence({ every: HOUR, from: FROM, catchUp });

/** Hours are those since the first instant. */
const at = (hour: number): number => FROM + hour * HOUR;

const isMissed = (catchUp: CatchUp, lateMs: number): boolean =>
  hourly(catchUp).isMissed(FROM, FROM + lateMs);

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
