import { describe } from '@jest/globals';
import { type Actor, COMMIT, node, ROLLBACK, time } from './support/actor.js';
import { claim, complete, expire, fail, renew, sweep } from './support/acts.js';
import { type Case, inEveryOrder } from './support/cases.js';
import { HOLDER } from './support/stage.js';

const ENDINGS = [
  [
    'completes',
    complete(),
    [
      'holder completed, time expired, another missed: nothing',
      'holder completed, time expired: nothing',
      'holder completed: nothing',
      'holder stale, time expired, another claimed: running on another',
    ],
  ],
  [
    'fails',
    fail(),
    [
      'holder failed, another claimed: running on another',
      'holder failed, time expired, another claimed: lease over',
      'holder failed, time expired, another claimed: running on another',
      'holder failed, time expired, another missed: due',
      'holder failed, time expired: due',
      'holder failed: due',
      'holder stale, time expired, another claimed: running on another',
    ],
  ],
  [
    'fails for good',
    fail(null),
    [
      'holder failed, time expired, another missed: dead',
      'holder failed, time expired: dead',
      'holder failed: dead',
      'holder stale, time expired, another claimed: running on another',
    ],
  ],
  [
    'renews',
    renew(),
    [
      'holder renewed, time expired, another claimed: running on another',
      'holder renewed, time expired, another missed: running on holder',
      'holder renewed, time expired: lease over',
      'holder renewed, time expired: running on holder',
      'holder stale, time expired, another claimed: running on another',
    ],
  ],
] as const;

/** Written for another node that sweeps; with the same node, the name in the lease tells nothing. */
const casesOf = (sweeper: Actor): Case[] =>
  ENDINGS.map(([what, act, outcomes]) => ({
    what: `${what} while its lease runs out and ${sweeper.name} node sweeps`,
    before: 'running',
    actors: [node(HOLDER, act, COMMIT), time(expire()), sweeper],
    outcomes: outcomes.map((outcome) =>
      outcome
        .replace('running on another', `running on ${sweeper.nodeName}`)
        .replace('another', sweeper.name),
    ),
  }));

const LATE = [
  ...casesOf(node('another', sweep())),
  ...casesOf(node('the same', sweep(), {}, HOLDER)),
];

const LATER: Case[] = [
  {
    what: 'renews and completes while its lease runs out and another node runs the delay',
    before: 'running',
    actors: [
      node(HOLDER, [renew(), complete()]),
      time(expire()),
      node('second', [sweep(), complete()]),
    ],
    outcomes: [
      'holder renewed completed, time expired, second missed: nothing',
      'holder renewed completed, time expired: nothing',
      'holder renewed completed: nothing',
      'holder renewed stale, time expired, second claimed completed: nothing',
      'holder stale stale, time expired, second claimed completed: nothing',
    ],
  },
  {
    what: 'renews and completes while its lease runs out and a wheel has an entry for its end',
    before: 'running',
    actors: [node(HOLDER, [renew(), complete()]), time(expire()), node('second', claim())],
    outcomes: [
      'holder renewed completed, second missed: nothing',
      'holder renewed completed, time expired, second missed: nothing',
      'holder renewed stale, time expired, second claimed: running on second',
      'holder stale stale, time expired, second claimed: running on second',
    ],
  },
  {
    what: 'completes after its lease while two others sweep, and one of them breaks off',
    before: 'lease over',
    actors: [
      node(HOLDER, complete()),
      node('second', sweep(), COMMIT),
      node('third', sweep(), ROLLBACK),
    ],
    outcomes: [
      'holder completed, second missed, third claimed: nothing',
      'holder completed, second missed, third missed: nothing',
      'holder completed, second missed: nothing',
      'holder completed, third claimed: nothing',
      'holder completed, third missed: nothing',
      'holder completed: nothing',
      'holder stale, second claimed, third claimed: running on second',
      'holder stale, second claimed, third missed: running on second',
      'holder stale, second claimed: running on second',
      'holder stale, second missed, third claimed: lease over',
    ],
  },
];

describe('a node that', () => {
  inEveryOrder([...LATE, ...LATER], 452);
});
