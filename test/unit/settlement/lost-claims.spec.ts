import { describe, expect, it } from '@jest/globals';
import { LostClaims } from '../../../src/delay-queue/settlement/lost-claims.js';

describe('claims without an answer', () => {
  it('are known by id and epoch', () => {
    const lost = new LostClaims();
    lost.add(1, 5);
    expect([lost.has(1, 5), lost.has(1, 4), lost.has(2, 5)]).toEqual([true, false, false]);
  });

  it('are forgotten when they are told to be, and when their row has gone on', () => {
    const lost = new LostClaims();
    lost.add(1, 5);
    lost.add(2, 5);
    lost.forget(1);
    expect(lost.has(1, 5)).toBe(false);
    expect(lost.has(2, 6)).toBe(false);
    expect(lost.has(2, 5)).toBe(false);
  });

  it('are of the latest claim of a row', () => {
    const lost = new LostClaims();
    lost.add(1, 5);
    lost.add(1, 7);
    expect([lost.has(1, 5), lost.has(1, 7)]).toEqual([false, true]);
  });

  it('are so many at most: the oldest go', () => {
    const lost = new LostClaims();
    for (let id = 1; id <= 20_001; id += 1) lost.add(id, 1);
    expect([lost.has(1, 1), lost.has(2, 1), lost.has(20_001, 1)]).toEqual([false, true, true]);
  });
});
