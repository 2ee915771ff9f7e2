import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Actor } from './actor.js';
import { outcomesInTurn } from './expected.js';
import { type Scenario, Stage, statesBefore } from './stage.js';

/**
 * Runs each scenario in every order of its statements. The rules of `audit.ts` are checked in each; and
 * what comes of the actors one after the other, by the document, must be among the outcomes.
 */
export function inEveryOrder(scenarios: readonly Scenario[]): void {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open();
  });

  afterAll(() => stage.close());

  const cases = scenarios.map((scenario) => ({ what: whatOf(scenario), ...scenario }));
  it.each(cases)('$what', async (scenario) => {
    const expected = outcomesInTurn(statesBefore(scenario.before), scenario.actors);
    const outcomes = await stage.explore(scenario);
    expect([...expected].filter((outcome) => !outcomes.has(outcome))).toEqual([]);
  });
}

const whatOf = ({ before, actors }: Scenario): string => {
  const states = Object.entries(statesBefore(before)).map(([slot, state]) => `${slot} ${state}`);
  return `${states.join(', ')}: ${actors.map(actorText).join(' | ')}`;
};

const actorText = ({ name, acts, end }: Actor): string =>
  [`${name}:`, ...acts.map((act) => [act.name, ...act.slots].join(' ')), end]
    .filter(Boolean)
    .join(' ');
