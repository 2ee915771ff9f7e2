import { describe } from '@jest/globals';
import { caller, COMMIT, node } from './support/actor.js';
import { type End, ENDS, type Verb, VERBS } from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';
import { HOLDER } from './support/stage.js';

type Row = [end: End, verb: Verb, outcomes: string[]];

/** The lease runs: no verb gets past it, and what ends the attempt decides what the verb meets. */
const LIVE: Row[] = [
  [
    'complete',
    'cancel',
    ['payer absent, holder completed: nothing', 'payer running, holder completed: nothing'],
  ],
  [
    'complete',
    'reschedule',
    ['payer absent, holder completed: nothing', 'payer running, holder completed: nothing'],
  ],
  [
    'complete',
    'replace',
    ['payer running, holder completed: nothing', 'payer scheduled, holder completed: due'],
  ],
  [
    'complete',
    'keep',
    ['payer running, holder completed: nothing', 'payer scheduled, holder completed: due'],
  ],
  ['complete', 'retryDead', ['payer absent, holder completed: nothing']],
  [
    'fail',
    'cancel',
    ['payer cancelled, holder failed: nothing', 'payer running, holder failed: due'],
  ],
  [
    'fail',
    'reschedule',
    ['payer rescheduled, holder failed: due', 'payer running, holder failed: due'],
  ],
  ['fail', 'replace', ['payer replaced, holder failed: due', 'payer running, holder failed: due']],
  ['fail', 'keep', ['payer kept, holder failed: due', 'payer running, holder failed: due']],
  ['fail', 'retryDead', ['payer absent, holder failed: due']],
  [
    'bury',
    'cancel',
    ['payer cancelled, holder failed: nothing', 'payer running, holder failed: dead'],
  ],
  [
    'bury',
    'reschedule',
    ['payer absent, holder failed: dead', 'payer running, holder failed: dead'],
  ],
  [
    'bury',
    'replace',
    ['payer running, holder failed: dead', 'payer scheduled, holder failed: due'],
  ],
  ['bury', 'keep', ['payer running, holder failed: dead', 'payer scheduled, holder failed: due']],
  ['bury', 'retryDead', ['payer absent, holder failed: dead', 'payer retried, holder failed: due']],
  ['renew', 'cancel', ['payer running, holder renewed: running on holder']],
  ['renew', 'reschedule', ['payer running, holder renewed: running on holder']],
  ['renew', 'replace', ['payer running, holder renewed: running on holder']],
  ['renew', 'keep', ['payer running, holder renewed: running on holder']],
  ['renew', 'retryDead', ['payer absent, holder renewed: running on holder']],
];

const CASES = LIVE.map(([end, verb, outcomes]): Case => ({
  what: `${end} and ${verb}`,
  before: 'running',
  actors: [caller('payer', VERBS[verb], COMMIT), node(HOLDER, ENDS[end], COMMIT)],
  outcomes,
}));

describe('an attempt that holds its lease', () => {
  inEveryOrder(CASES, 168);
});
