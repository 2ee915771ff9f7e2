import { describe } from '@jest/globals';
import { type Actor, caller, COMMIT, node, ROLLBACK, time } from './support/actor.js';
import {
  cancel,
  claim,
  complete,
  expire,
  fail,
  failForGood,
  renew,
  reschedule,
  schedule,
  scheduleMany,
  sweep,
} from './support/acts.js';
import { inEveryOrder } from './support/cases.js';
import type { Scenario } from './support/stage.js';
import { HOLDER } from './support/state.js';

/** A node writes of its attempt while its lease runs out, and somebody sweeps. */
const LATE = [complete(), fail(), failForGood(), renew()].map((act): Scenario =>
  late(node(HOLDER, act, COMMIT), node('another', sweep())),
);

function late(holder: Actor, other: Actor): Scenario {
  return { before: 'running', actors: [holder, time(expire()), other] };
}

const THREE: Scenario[] = [
  {
    before: 'due',
    actors: [
      node('first', claim(), COMMIT),
      caller('payer', cancel()),
      caller('mover', reschedule()),
    ],
  },
  {
    before: 'due',
    actors: [
      node('first', [claim(), renew(), complete()]),
      time(expire()),
      node('second', sweep()),
    ],
  },
  {
    before: 'due',
    actors: [
      node('first', claim(), COMMIT),
      node('second', claim(), ROLLBACK),
      node('third', sweep()),
    ],
  },
  {
    before: 'running',
    actors: [
      node(HOLDER, complete()),
      caller('payer', cancel()),
      caller('mover', schedule('replace'), COMMIT),
    ],
  },
  ...LATE,
  // By the name in the lease, nothing could be told: only by the epoch.
  late(node(HOLDER, complete(), COMMIT), node('the same', sweep(), {}, HOLDER)),
  late(node(HOLDER, renew(), COMMIT), node('the same', sweep(), {}, HOLDER)),
  // Another node runs the delay to its end; a wheel has an entry for the end of the lease.
  late(node(HOLDER, [renew(), complete()]), node('second', [sweep(), complete()])),
  late(node(HOLDER, [renew(), complete()]), node('second', claim())),
  {
    before: 'lease over',
    actors: [
      node(HOLDER, complete()),
      node('second', sweep(), COMMIT),
      node('third', sweep(), ROLLBACK),
    ],
  },
  // The keys in one order, whatever the order of the items: nobody waits in a circle.
  {
    before: { a: 'due', b: 'due' },
    actors: [
      caller('payer', cancel('b'), ROLLBACK),
      caller('shop', scheduleMany('b', 'a')),
      caller('other shop', scheduleMany('a', 'b')),
    ],
  },
];

describe('three sessions', () => {
  inEveryOrder(THREE);
});
