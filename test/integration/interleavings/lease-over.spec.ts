import { describe } from '@jest/globals';
import { caller, COMMIT, node, ROLLBACK } from './support/actor.js';
import { type End, ENDS, type Verb, VERBS } from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';
import { HOLDER } from './support/stage.js';

type Row = [end: End, verb: Verb, outcomes: string[]];

/** The lease is over and nobody has claimed the row again: whoever comes first has it. */
const OVER: Row[] = [
  [
    'complete',
    'cancel',
    [
      'payer absent, holder completed: nothing',
      'payer cancelled, holder stale: nothing',
      'payer running, holder completed: nothing',
    ],
  ],
  [
    'complete',
    'reschedule',
    [
      'payer absent, holder completed: nothing',
      'payer rescheduled, holder stale: due',
      'payer running, holder completed: nothing',
    ],
  ],
  [
    'complete',
    'replace',
    [
      'payer replaced, holder stale: due',
      'payer running, holder completed: nothing',
      'payer scheduled, holder completed: due',
    ],
  ],
  [
    'complete',
    'keep',
    [
      'payer kept, holder completed: nothing',
      'payer kept, holder stale: lease over',
      'payer running, holder completed: nothing',
      'payer scheduled, holder completed: due',
    ],
  ],
  [
    'fail',
    'cancel',
    [
      'payer cancelled, holder failed: nothing',
      'payer cancelled, holder stale: nothing',
      'payer running, holder failed: due',
    ],
  ],
  [
    'fail',
    'reschedule',
    [
      'payer rescheduled, holder failed: due',
      'payer rescheduled, holder stale: due',
      'payer running, holder failed: due',
    ],
  ],
  [
    'fail',
    'replace',
    [
      'payer replaced, holder failed: due',
      'payer replaced, holder stale: due',
      'payer running, holder failed: due',
    ],
  ],
  [
    'fail',
    'keep',
    [
      'payer kept, holder failed: due',
      'payer kept, holder stale: lease over',
      'payer running, holder failed: due',
    ],
  ],
  [
    'renew',
    'cancel',
    ['payer cancelled, holder stale: nothing', 'payer running, holder renewed: running on holder'],
  ],
  [
    'renew',
    'reschedule',
    ['payer rescheduled, holder stale: due', 'payer running, holder renewed: running on holder'],
  ],
  [
    'renew',
    'replace',
    ['payer replaced, holder stale: due', 'payer running, holder renewed: running on holder'],
  ],
  [
    'renew',
    'keep',
    [
      'payer kept, holder renewed: running on holder',
      'payer kept, holder stale: lease over',
      'payer running, holder renewed: running on holder',
    ],
  ],
];

/** The same, and the engine's statement is rolled back: its session broke. */
const OVER_ROLLBACK: Row[] = [
  [
    'complete',
    'cancel',
    [
      'payer cancelled, holder completed: nothing',
      'payer cancelled, holder stale: nothing',
      'payer running, holder completed: lease over',
    ],
  ],
  [
    'complete',
    'reschedule',
    [
      'payer rescheduled, holder completed: due',
      'payer rescheduled, holder stale: due',
      'payer running, holder completed: lease over',
    ],
  ],
  [
    'complete',
    'replace',
    [
      'payer replaced, holder completed: due',
      'payer replaced, holder stale: due',
      'payer running, holder completed: lease over',
    ],
  ],
  [
    'complete',
    'keep',
    [
      'payer kept, holder completed: lease over',
      'payer kept, holder stale: lease over',
      'payer running, holder completed: lease over',
    ],
  ],
  [
    'fail',
    'cancel',
    [
      'payer cancelled, holder failed: nothing',
      'payer cancelled, holder stale: nothing',
      'payer running, holder failed: lease over',
    ],
  ],
  [
    'fail',
    'reschedule',
    [
      'payer rescheduled, holder failed: due',
      'payer rescheduled, holder stale: due',
      'payer running, holder failed: lease over',
    ],
  ],
  [
    'fail',
    'replace',
    [
      'payer replaced, holder failed: due',
      'payer replaced, holder stale: due',
      'payer running, holder failed: lease over',
    ],
  ],
  [
    'fail',
    'keep',
    [
      'payer kept, holder failed: lease over',
      'payer kept, holder stale: lease over',
      'payer running, holder failed: lease over',
    ],
  ],
  [
    'renew',
    'cancel',
    [
      'payer cancelled, holder renewed: nothing',
      'payer cancelled, holder stale: nothing',
      'payer running, holder renewed: lease over',
    ],
  ],
  [
    'renew',
    'reschedule',
    [
      'payer rescheduled, holder renewed: due',
      'payer rescheduled, holder stale: due',
      'payer running, holder renewed: lease over',
    ],
  ],
  [
    'renew',
    'replace',
    [
      'payer replaced, holder renewed: due',
      'payer replaced, holder stale: due',
      'payer running, holder renewed: lease over',
    ],
  ],
  [
    'renew',
    'keep',
    [
      'payer kept, holder renewed: lease over',
      'payer kept, holder stale: lease over',
      'payer running, holder renewed: lease over',
    ],
  ],
];

const casesOf = (rows: Row[], ending: typeof COMMIT | typeof ROLLBACK) =>
  rows.map(([end, verb, outcomes]): Case => ({
    what: `${end} (${ending.end}) and ${verb}`,
    before: 'lease over',
    actors: [caller('payer', VERBS[verb], COMMIT), node(HOLDER, ENDS[end], ending)],
    outcomes,
  }));

describe('an attempt whose lease is over', () => {
  inEveryOrder([...casesOf(OVER, COMMIT), ...casesOf(OVER_ROLLBACK, ROLLBACK)], 216);
});
