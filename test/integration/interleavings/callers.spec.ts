import { describe } from '@jest/globals';
import { caller, COMMIT, node, ROLLBACK } from './support/actor.js';
import { cancel, claim, scheduleMany, type Verb, VERBS } from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';
import type { State } from './support/stage.js';

type Row = [first: Verb, end: 'commit' | 'rollback', payer: Verb, outcomes: string[]];

/** The same new key in two transactions: one row, and one of them made it. */
const NEW: Row[] = [
  [
    'replace',
    'commit',
    'replace',
    ['first replaced, payer scheduled: due', 'first scheduled, payer replaced: due'],
  ],
  [
    'replace',
    'commit',
    'keep',
    ['first replaced, payer scheduled: due', 'first scheduled, payer kept: due'],
  ],
  [
    'replace',
    'commit',
    'error',
    ['first replaced, payer scheduled: due', 'first scheduled, payer DELAY_CONFLICT: due'],
  ],
  [
    'replace',
    'rollback',
    'replace',
    ['first replaced, payer scheduled: due', 'first scheduled, payer scheduled: due'],
  ],
  [
    'replace',
    'rollback',
    'keep',
    ['first replaced, payer scheduled: due', 'first scheduled, payer scheduled: due'],
  ],
  [
    'replace',
    'rollback',
    'error',
    ['first replaced, payer scheduled: due', 'first scheduled, payer scheduled: due'],
  ],
];

const DEAD: Row[] = [
  [
    'retryDead',
    'commit',
    'cancel',
    ['first absent, payer cancelled: nothing', 'first retried, payer cancelled: nothing'],
  ],
  [
    'retryDead',
    'commit',
    'reschedule',
    ['first retried, payer absent: due', 'first retried, payer rescheduled: due'],
  ],
  [
    'retryDead',
    'commit',
    'replace',
    ['first absent, payer scheduled: due', 'first retried, payer replaced: due'],
  ],
  [
    'retryDead',
    'commit',
    'keep',
    ['first absent, payer scheduled: due', 'first retried, payer kept: due'],
  ],
  [
    'retryDead',
    'commit',
    'retryDead',
    ['first absent, payer retried: due', 'first retried, payer absent: due'],
  ],
  [
    'cancel',
    'commit',
    'retryDead',
    ['first cancelled, payer absent: nothing', 'first cancelled, payer retried: nothing'],
  ],
  [
    'replace',
    'commit',
    'retryDead',
    ['first replaced, payer retried: due', 'first scheduled, payer absent: due'],
  ],
  [
    'retryDead',
    'rollback',
    'cancel',
    ['first absent, payer cancelled: nothing', 'first retried, payer cancelled: nothing'],
  ],
  ['retryDead', 'rollback', 'reschedule', ['first retried, payer absent: dead']],
  [
    'retryDead',
    'rollback',
    'replace',
    ['first absent, payer scheduled: due', 'first retried, payer scheduled: due'],
  ],
  [
    'retryDead',
    'rollback',
    'keep',
    ['first absent, payer scheduled: due', 'first retried, payer scheduled: due'],
  ],
  [
    'retryDead',
    'rollback',
    'retryDead',
    ['first absent, payer retried: due', 'first retried, payer retried: due'],
  ],
  ['cancel', 'rollback', 'retryDead', ['first cancelled, payer retried: due']],
  [
    'replace',
    'rollback',
    'retryDead',
    ['first replaced, payer retried: due', 'first scheduled, payer retried: due'],
  ],
];

const DUE: Row[] = [
  [
    'cancel',
    'commit',
    'replace',
    ['first cancelled, payer replaced: nothing', 'first cancelled, payer scheduled: due'],
  ],
  [
    'cancel',
    'commit',
    'keep',
    ['first cancelled, payer kept: nothing', 'first cancelled, payer scheduled: due'],
  ],
  ['reschedule', 'commit', 'replace', ['first rescheduled, payer replaced: due']],
  [
    'cancel',
    'commit',
    'reschedule',
    ['first cancelled, payer absent: nothing', 'first cancelled, payer rescheduled: nothing'],
  ],
  ['cancel', 'rollback', 'replace', ['first cancelled, payer replaced: due']],
  ['cancel', 'rollback', 'keep', ['first cancelled, payer kept: due']],
  ['reschedule', 'rollback', 'replace', ['first rescheduled, payer replaced: due']],
  ['cancel', 'rollback', 'reschedule', ['first cancelled, payer rescheduled: due']],
];

const casesOf = (rows: Row[], before: State) =>
  rows.map(([first, end, payer, outcomes]): Case => ({
    what: `${before}: ${first} (${end}) and ${payer}`,
    before,
    actors: [caller('first', VERBS[first], { end }), caller('payer', VERBS[payer], COMMIT)],
    outcomes,
  }));

/** Outcomes name the state of `a` first; `shop` names its keys in the order in which they stand here. */
const MANY: Case[] = [
  {
    what: 'scheduleMany of a new key and one that is cancelled',
    before: { a: 'nothing', b: 'due' },
    actors: [caller('shop', scheduleMany('a', 'b'), COMMIT), caller('payer', cancel('b'), COMMIT)],
    outcomes: [
      'shop scheduled replaced, payer cancelled: due and nothing',
      'shop scheduled scheduled, payer cancelled: due and due',
    ],
  },
  {
    what: 'scheduleMany of a key that is cancelled and a new one',
    before: { a: 'due', b: 'nothing' },
    actors: [caller('shop', scheduleMany('b', 'a'), COMMIT), caller('payer', cancel('a'), COMMIT)],
    outcomes: [
      'shop scheduled replaced, payer cancelled: nothing and due',
      'shop scheduled scheduled, payer cancelled: due and due',
    ],
  },
  {
    what: 'scheduleMany of two keys, one of which is cancelled',
    before: { a: 'due', b: 'due' },
    actors: [caller('shop', scheduleMany('b', 'a'), COMMIT), caller('payer', cancel('b'), COMMIT)],
    outcomes: [
      'shop replaced replaced, payer cancelled: due and nothing',
      'shop scheduled replaced, payer cancelled: due and due',
    ],
  },
  {
    what: 'scheduleMany of the same keys in opposite orders',
    before: { a: 'due', b: 'nothing' },
    actors: [
      caller('shop', scheduleMany('b', 'a'), COMMIT),
      caller('payer', scheduleMany('a', 'b'), COMMIT),
    ],
    outcomes: [
      'shop replaced replaced, payer replaced scheduled: due and due',
      'shop scheduled replaced, payer replaced replaced: due and due',
    ],
  },
  {
    what: 'scheduleMany of the same keys in opposite orders behind a caller who holds one of them',
    before: { a: 'due', b: 'due' },
    actors: [
      caller('payer', cancel('b'), ROLLBACK),
      caller('shop', scheduleMany('b', 'a')),
      caller('other shop', scheduleMany('a', 'b')),
    ],
    outcomes: [
      'payer cancelled, shop replaced replaced, other shop replaced replaced: due and due',
    ],
  },
  {
    what: 'scheduleMany of two keys, one of which is claimed',
    before: { a: 'due', b: 'due' },
    actors: [caller('shop', scheduleMany('b', 'a'), COMMIT), node('first', claim(), COMMIT)],
    outcomes: [
      'shop replaced replaced, first missed: due and due',
      'shop replaced running, first claimed: running on first and due',
    ],
  },
];

describe('two callers', () => {
  inEveryOrder(
    [...casesOf(NEW, 'nothing'), ...casesOf(DEAD, 'dead'), ...casesOf(DUE, 'due'), ...MANY],
    664,
  );
});
