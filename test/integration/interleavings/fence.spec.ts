import { describe } from '@jest/globals';
import { type Actor, caller, COMMIT, node, ROLLBACK } from './support/actor.js';
import { complete, fence, sweep, type Verb, VERBS } from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';
import { HOLDER, type State } from './support/stage.js';

type Row = [verb: Verb, outcomes: string[]];

/** A transactional attempt that ends well, and one whose handler throws. */
const DONE = node(HOLDER, [fence(), complete()], COMMIT);
const FAILED = node(HOLDER, fence(), ROLLBACK);

const LIVE: Row[] = [
  [
    'cancel',
    [
      'holder held completed, payer absent: nothing',
      'holder held completed, payer running: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'holder held completed, payer absent: nothing',
      'holder held completed, payer running: nothing',
    ],
  ],
  [
    'replace',
    [
      'holder held completed, payer running: nothing',
      'holder held completed, payer scheduled: due',
    ],
  ],
  [
    'keep',
    [
      'holder held completed, payer running: nothing',
      'holder held completed, payer scheduled: due',
    ],
  ],
  ['retryDead', ['holder held completed, payer absent: nothing']],
];

const OVER: Row[] = [
  [
    'cancel',
    [
      'holder held completed, payer absent: nothing',
      'holder held completed, payer running: nothing',
      'holder lost, payer cancelled: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'holder held completed, payer absent: nothing',
      'holder held completed, payer running: nothing',
      'holder lost, payer rescheduled: due',
    ],
  ],
  [
    'replace',
    [
      'holder held completed, payer running: nothing',
      'holder held completed, payer scheduled: due',
      'holder lost, payer replaced: due',
    ],
  ],
  [
    'keep',
    [
      'holder held completed, payer kept: nothing',
      'holder held completed, payer running: nothing',
      'holder held completed, payer scheduled: due',
    ],
  ],
  ['retryDead', ['holder held completed, payer absent: nothing']],
];

const OVER_FAILED: Row[] = [
  [
    'cancel',
    [
      'holder held, payer cancelled: nothing',
      'holder held, payer running: lease over',
      'holder lost, payer cancelled: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'holder held, payer rescheduled: due',
      'holder held, payer running: lease over',
      'holder lost, payer rescheduled: due',
    ],
  ],
  [
    'replace',
    [
      'holder held, payer replaced: due',
      'holder held, payer running: lease over',
      'holder lost, payer replaced: due',
    ],
  ],
  ['keep', ['holder held, payer kept: lease over', 'holder held, payer running: lease over']],
  ['retryDead', ['holder held, payer absent: lease over']],
];

const OVER_UNDONE: Row[] = [
  [
    'cancel',
    [
      'holder held completed, payer absent: nothing',
      'holder held completed, payer cancelled: nothing',
      'holder held completed, payer running: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'holder held completed, payer absent: nothing',
      'holder held completed, payer rescheduled: nothing',
      'holder held completed, payer running: nothing',
    ],
  ],
  [
    'replace',
    [
      'holder held completed, payer replaced: nothing',
      'holder held completed, payer running: nothing',
      'holder held completed, payer scheduled: nothing',
    ],
  ],
  [
    'keep',
    [
      'holder held completed, payer kept: nothing',
      'holder held completed, payer running: nothing',
      'holder held completed, payer scheduled: nothing',
    ],
  ],
  ['retryDead', ['holder held completed, payer absent: nothing']],
];

const casesOf = (
  rows: Row[],
  before: State,
  holder: Actor,
  ending: typeof COMMIT | typeof ROLLBACK,
) =>
  rows.map(([verb, outcomes]): Case => ({
    what: `${before}: a fence (${holder.end}) and ${verb} (${ending.end})`,
    before,
    actors: [holder, caller('payer', VERBS[verb], ending)],
    outcomes,
  }));

/** The lease is over while the fence still holds the row. */
const SWEEPS: Case[] = [
  {
    what: 'a fence and a sweep',
    before: 'lease over',
    actors: [DONE, node('second', sweep(), COMMIT)],
    outcomes: [
      'holder held completed, second missed: nothing',
      'holder held completed: nothing',
      'holder lost, second claimed: running on second',
    ],
  },
  {
    what: 'a fence and a sweep that breaks off',
    before: 'lease over',
    actors: [DONE, node('second', sweep(), ROLLBACK)],
    outcomes: [
      'holder held completed, second claimed: nothing',
      'holder held completed, second missed: nothing',
      'holder held completed: nothing',
    ],
  },
  {
    what: 'a fence that is rolled back at the last moment and another attempt',
    before: 'lease over',
    actors: [node(HOLDER, [fence(), complete()], ROLLBACK), node('second', [sweep(), complete()])],
    outcomes: [
      'holder held completed, second claimed completed: nothing',
      'holder held completed, second missed: lease over',
      'holder lost, second claimed completed: nothing',
    ],
  },
];

describe('the fence of a transactional attempt', () => {
  inEveryOrder(
    [
      ...casesOf(LIVE, 'running', DONE, COMMIT),
      ...casesOf(OVER, 'lease over', DONE, COMMIT),
      ...casesOf(OVER_FAILED, 'lease over', FAILED, COMMIT),
      ...casesOf(OVER_UNDONE, 'lease over', DONE, ROLLBACK),
      ...SWEEPS,
    ],
    342,
  );
});
