import { describe, expect, it } from '@jest/globals';
import { array, assert, date, property } from 'fast-check';
import { shortenedScale } from '../../../src/delay-queue/dashboard/page/story/shortened-scale.js';

const at = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

describe('the shortened scale of a story', () => {
  it('keeps apart what happened within a second, beside a wait of a month', () => {
    const scale = shortenedScale([at(0), at(500), at(1_000), at(30 * 86_400_000)]);
    expect(scale(at(500))).toBeGreaterThan(0.02);
    expect(scale(at(1_000)) - scale(at(500))).toBeGreaterThan(0.02);
    expect([scale(at(0)), scale(at(30 * 86_400_000))]).toEqual([0, 1]);
  });

  it('never turns the order around, and stays within 0 and 1', () => {
    const instants = array(date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }));
    assert(
      property(instants, instants, (marks, asked) => {
        const scale = shortenedScale(marks.map((mark) => mark.toISOString()));
        const places = asked
          .toSorted((a, b) => a.getTime() - b.getTime())
          .map((each) => scale(each.toISOString()));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        for (const place of places) expect(place >= 0 && place <= 1).toBe(true);
      }),
    );
  });

  it('of nothing, and of what is no instant, has a place for each', () => {
    expect(shortenedScale([])(at(0))).toBe(1);
    expect(shortenedScale([null, 'never', at(0)])(at(0))).toBe(0);
  });
});
