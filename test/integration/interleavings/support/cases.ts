import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Scenario, Stage } from './stage.js';

/** A scenario, and every outcome that some order of its statements must have; no others may be. */
export interface Case extends Scenario {
  what: string;
  outcomes: readonly string[];
}

/**
 * Runs each case in every order. The rules of `audit.ts` are checked in each, and so is what can
 * come of them all.
 *
 * @param total interleavings in the file: an enumerator that runs none cannot pass
 */
export function inEveryOrder(cases: readonly Case[], total: number): void {
  let stage: Stage;
  let interleavings = 0;

  beforeAll(async () => {
    stage = await Stage.open();
  });

  afterAll(() => stage.close());

  it.each(cases)('$what', async ({ outcomes, ...scenario }) => {
    const explored = await stage.explore(scenario);
    interleavings += explored.interleavings;
    expect(explored.outcomes).toEqual(outcomes.toSorted());
  });

  it(`in ${total} interleavings altogether`, () => {
    expect(interleavings).toBe(total);
  });
}
