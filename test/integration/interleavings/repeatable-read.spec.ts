import { describe } from '@jest/globals';
import { type Actor, caller, COMMIT, node, SNAPSHOT } from './support/actor.js';
import { cancel, claim, complete, fence, find, type Verb, VERBS } from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';
import { HOLDER, type State } from './support/stage.js';

type Row = [verb: Verb, outcomes: string[]];

/** The payer has looked at the delay, and so taken a snapshot, before writing about it. */
const casesOf = (rows: Row[], what: string, before: State, other: Actor) =>
  rows.map(([verb, outcomes]): Case => ({
    what: `${verb} and ${what}`,
    before,
    actors: [caller('payer', [find(), VERBS[verb]], SNAPSHOT), other],
    outcomes,
  }));

const CLAIM: Row[] = [
  [
    'cancel',
    [
      'payer found running running, first claimed: running on first',
      'payer found scheduled 40001, first claimed: running on first',
      'payer found scheduled cancelled, first missed: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'payer found running running, first claimed: running on first',
      'payer found scheduled 40001, first claimed: running on first',
      'payer found scheduled rescheduled, first missed: due',
    ],
  ],
  [
    'replace',
    [
      'payer found running running, first claimed: running on first',
      'payer found scheduled 40001, first claimed: running on first',
      'payer found scheduled replaced, first missed: due',
    ],
  ],
  [
    'keep',
    [
      'payer found running running, first claimed: running on first',
      'payer found scheduled 40001, first claimed: running on first',
      'payer found scheduled kept, first claimed: running on first',
      'payer found scheduled kept, first missed: due',
    ],
  ],
];
const COMPLETE: Row[] = [
  [
    'cancel',
    [
      'payer found nothing absent, holder completed: nothing',
      'payer found running running, holder completed: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'payer found nothing absent, holder completed: nothing',
      'payer found running running, holder completed: nothing',
    ],
  ],
  [
    'replace',
    [
      'payer found nothing scheduled, holder completed: due',
      'payer found running running, holder completed: nothing',
    ],
  ],
  [
    'keep',
    [
      'payer found nothing scheduled, holder completed: due',
      'payer found running running, holder completed: nothing',
    ],
  ],
];
const FENCE: Row[] = [
  [
    'cancel',
    [
      'payer found nothing absent, holder held completed: nothing',
      'payer found retrying 40001, holder held completed: nothing',
      'payer found retrying cancelled, holder lost: nothing',
      'payer found retrying running, holder held completed: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'payer found nothing absent, holder held completed: nothing',
      'payer found retrying 40001, holder held completed: nothing',
      'payer found retrying rescheduled, holder lost: due',
      'payer found retrying running, holder held completed: nothing',
    ],
  ],
  [
    'replace',
    [
      'payer found nothing scheduled, holder held completed: due',
      'payer found retrying 40001, holder held completed: nothing',
      'payer found retrying replaced, holder lost: due',
      'payer found retrying running, holder held completed: nothing',
    ],
  ],
  [
    'keep',
    [
      'payer found nothing scheduled, holder held completed: due',
      'payer found retrying 40001, holder held completed: nothing',
      'payer found retrying kept, holder held completed: nothing',
      'payer found retrying running, holder held completed: nothing',
    ],
  ],
];
const DUE: Row[] = [
  [
    'cancel',
    [
      'payer found nothing absent, other cancelled: nothing',
      'payer found scheduled 40001, other cancelled: nothing',
      'payer found scheduled cancelled, other absent: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'payer found nothing absent, other cancelled: nothing',
      'payer found scheduled 40001, other cancelled: nothing',
      'payer found scheduled rescheduled, other cancelled: nothing',
    ],
  ],
  [
    'replace',
    [
      'payer found nothing scheduled, other cancelled: due',
      'payer found scheduled 40001, other cancelled: nothing',
      'payer found scheduled replaced, other cancelled: nothing',
    ],
  ],
  [
    'keep',
    [
      'payer found nothing scheduled, other cancelled: due',
      'payer found scheduled 40001, other cancelled: nothing',
      'payer found scheduled kept, other cancelled: nothing',
    ],
  ],
];
const NOTHING: Row[] = [
  [
    'cancel',
    [
      'payer found nothing absent, other scheduled: due',
      'payer found scheduled cancelled, other scheduled: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'payer found nothing absent, other scheduled: due',
      'payer found scheduled rescheduled, other scheduled: due',
    ],
  ],
  [
    'replace',
    [
      'payer found nothing 40001, other scheduled: due',
      'payer found nothing scheduled, other replaced: due',
      'payer found scheduled replaced, other scheduled: due',
    ],
  ],
  [
    'keep',
    [
      'payer found nothing 40001, other scheduled: due',
      'payer found nothing scheduled, other replaced: due',
      'payer found scheduled kept, other scheduled: due',
    ],
  ],
];
const DEAD: Row[] = [
  [
    'cancel',
    [
      'payer found dead 40001, other scheduled: due',
      'payer found dead cancelled, other scheduled: due',
      'payer found scheduled cancelled, other scheduled: nothing',
    ],
  ],
  [
    'reschedule',
    [
      'payer found dead 40001, other scheduled: due',
      'payer found dead absent, other scheduled: due',
      'payer found scheduled rescheduled, other scheduled: due',
    ],
  ],
  [
    'replace',
    [
      'payer found dead 40001, other scheduled: due',
      'payer found dead scheduled, other replaced: due',
      'payer found scheduled replaced, other scheduled: due',
    ],
  ],
  [
    'keep',
    [
      'payer found dead 40001, other scheduled: due',
      'payer found dead scheduled, other replaced: due',
      'payer found scheduled kept, other scheduled: due',
    ],
  ],
];

describe('a caller in REPEATABLE READ', () => {
  inEveryOrder(
    [
      ...casesOf(CLAIM, 'a claim', 'due', node('first', claim(), COMMIT)),
      ...casesOf(COMPLETE, 'a completion', 'running', node(HOLDER, complete())),
      ...casesOf(FENCE, 'a fence', 'lease over', node(HOLDER, [fence(), complete()], COMMIT)),
      ...casesOf(DUE, 'a cancel', 'due', caller('other', cancel(), COMMIT)),
      ...casesOf(NOTHING, 'a new schedule', 'nothing', caller('other', VERBS.replace)),
      ...casesOf(DEAD, 'a revival', 'dead', caller('other', VERBS.replace)),
    ],
    434,
  );
});
