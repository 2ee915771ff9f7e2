import { describe } from '@jest/globals';
import { caller, COMMIT, node, time } from './support/actor.js';
import {
  cancel,
  claim,
  complete,
  expire,
  fence,
  lookingAgain,
  renew,
  reschedule,
  schedule,
  sweep,
} from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';
import { HOLDER } from './support/stage.js';

const THREE: Case[] = [
  {
    what: 'a claim, a cancel and a reschedule',
    before: 'due',
    actors: [
      node('first', claim(), COMMIT),
      caller('payer', lookingAgain(cancel())),
      caller('mover', lookingAgain(reschedule())),
    ],
    outcomes: [
      'first claimed, payer running, mover running: running on first',
      'first missed, payer cancelled, mover absent: nothing',
      'first missed, payer cancelled, mover rescheduled: nothing',
    ],
  },
  {
    what: 'a claim that is renewed and completed, its lease that runs out, and a sweep',
    before: 'due',
    actors: [
      node('first', [claim(), renew(), complete()]),
      time(expire()),
      node('second', sweep()),
    ],
    outcomes: [
      'first claimed renewed completed, second missed: nothing',
      'first claimed renewed completed, time expired, second missed: nothing',
      'first claimed renewed completed, time expired: nothing',
      'first claimed renewed completed: nothing',
      'first claimed renewed stale, time expired, second claimed: running on second',
      'first claimed stale stale, time expired, second claimed: running on second',
      'first missed, second claimed: running on second',
      'first missed, time expired, second claimed: lease over',
    ],
  },
  {
    what: 'a completion, a cancel and a schedule',
    before: 'running',
    actors: [
      node(HOLDER, complete()),
      caller('payer', cancel(), COMMIT),
      caller('mover', schedule('replace'), COMMIT),
    ],
    outcomes: [
      'holder completed, payer absent, mover running: nothing',
      'holder completed, payer absent, mover scheduled: due',
      'holder completed, payer cancelled, mover scheduled: nothing',
      'holder completed, payer running, mover running: nothing',
      'holder completed, payer running, mover scheduled: due',
    ],
  },
  {
    what: 'a fence after its lease, a cancel and a sweep',
    before: 'lease over',
    actors: [
      node(HOLDER, [fence(), complete()], COMMIT),
      caller('payer', cancel(), COMMIT),
      node('second', sweep()),
    ],
    outcomes: [
      'holder held completed, payer absent, second missed: nothing',
      'holder held completed, payer absent: nothing',
      'holder held completed, payer running, second missed: nothing',
      'holder held completed, payer running: nothing',
      'holder lost, payer cancelled, second missed: nothing',
      'holder lost, payer cancelled: nothing',
      'holder lost, payer running, second claimed: running on second',
    ],
  },
];

describe('three sessions', () => {
  inEveryOrder(THREE, 970);
});
