import { describe } from '@jest/globals';
import { type Actor, caller, COMMIT, node, ROLLBACK } from './support/actor.js';
import { cancel, claim, retryDead, schedule, sweep, VERBS } from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';

/** What each verb says when it comes first, and what is left then. */
const FIRST = {
  cancel: ['cancelled', 'nothing'],
  reschedule: ['rescheduled', 'due'],
  replace: ['replaced', 'due'],
  keep: ['kept', 'due'],
  error: ['DELAY_CONFLICT', 'due'],
} as const;

const ENDINGS = [COMMIT, ROLLBACK];

/** What may come of a verb and a claim, each in a transaction that ends so. */
function outcomesOf(verb: keyof typeof FIRST, payer: Actor, first: Actor): string[] {
  const [done, left] = FIRST[verb];
  const changes = verb !== 'keep' && verb !== 'error';
  const stands = payer.end === 'commit' ? left : 'due';
  const outcomes = [`payer ${done}, first missed: ${stands}`];
  if (first.end === 'rollback') return [...outcomes, `payer ${done}, first claimed: ${stands}`];
  outcomes.push('payer running, first claimed: running on first');
  if (changes && payer.end === 'commit') return outcomes;
  return [...outcomes, `payer ${done}, first claimed: running on first`];
}

/** A claim in flight is one whose transaction is open. */
const VERB_AND_CLAIM: Case[] = (Object.keys(FIRST) as (keyof typeof FIRST)[]).flatMap((verb) =>
  ENDINGS.flatMap((callers) =>
    ENDINGS.map((nodes): Case => {
      const payer = caller('payer', VERBS[verb], callers);
      const first = node('first', claim(), nodes);
      return {
        what: `a claim (${nodes.end}) and ${verb} (${callers.end})`,
        before: 'due',
        actors: [payer, first],
        outcomes: outcomesOf(verb, payer, first),
      };
    }),
  ),
);

const CLAIMS: Case[] = [
  {
    what: 'two claims',
    before: 'due',
    actors: [node('first', claim(), COMMIT), node('second', claim(), COMMIT)],
    outcomes: [
      'first claimed, second missed: running on first',
      'first missed, second claimed: running on second',
    ],
  },
  {
    what: 'two claims, one of which is rolled back',
    before: 'due',
    actors: [node('first', claim(), COMMIT), node('second', claim(), ROLLBACK)],
    outcomes: [
      'first claimed, second claimed: running on first',
      'first claimed, second missed: running on first',
      'first missed, second claimed: due',
    ],
  },
  {
    what: 'two claims, one of which is rolled back, and a sweep',
    before: 'due',
    actors: [
      node('first', claim(), COMMIT),
      node('second', claim(), ROLLBACK),
      node('third', sweep()),
    ],
    outcomes: [
      'first claimed, second claimed, third missed: running on first',
      'first claimed, second claimed: running on first',
      'first claimed, second missed, third missed: running on first',
      'first claimed, second missed: running on first',
      'first missed, second claimed, third claimed: running on third',
      'first missed, second claimed, third missed: due',
      'first missed, second missed, third claimed: running on third',
    ],
  },
];

const NEW_ROWS: Case[] = [
  {
    what: 'a claim and a caller who cancels and schedules again',
    before: 'due',
    actors: [
      caller('payer', [cancel(), schedule('replace')], COMMIT),
      node('first', claim(), COMMIT),
    ],
    outcomes: [
      'payer cancelled scheduled, first missed: due',
      'payer running running, first claimed: running on first',
    ],
  },
  {
    what: 'a sweep and a caller who cancels and schedules again',
    before: 'due',
    actors: [caller('payer', [cancel(), schedule('replace')], COMMIT), node('first', sweep())],
    outcomes: [
      'payer cancelled scheduled, first missed: due',
      'payer cancelled scheduled: due',
      'payer running running, first claimed: running on first',
    ],
  },
  {
    what: 'a sweep and a dead letter that is retried',
    before: 'dead',
    actors: [caller('payer', retryDead(), COMMIT), node('first', sweep(), COMMIT)],
    outcomes: ['payer retried, first claimed: running on first', 'payer retried: due'],
  },
];

describe('a claim', () => {
  inEveryOrder([...VERB_AND_CLAIM, ...CLAIMS, ...NEW_ROWS], 338);
});
