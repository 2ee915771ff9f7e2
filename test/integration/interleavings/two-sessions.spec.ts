import { describe } from '@jest/globals';
import { type Actor, caller, COMMIT, node, ROLLBACK, SNAPSHOT, time } from './support/actor.js';
import {
  type Act,
  begin,
  cancel,
  claim,
  close,
  commit,
  complete,
  expire,
  fail,
  failForGood,
  find,
  pay,
  remove,
  renew,
  reschedule,
  retryDead,
  schedule,
  scheduleMany,
  sweep,
} from './support/acts.js';
import { inEveryOrder } from './support/cases.js';
import type { Scenario } from './support/stage.js';
import { HOLDER, type State } from './support/state.js';

const CHANGES = [cancel(), reschedule(), schedule('replace')];
const VERBS = [...CHANGES, schedule('keep')];
const ALL = [...VERBS, schedule('error'), retryDead()];

const payers = (acts: Act[], ending: typeof COMMIT | typeof ROLLBACK = COMMIT): Actor[] =>
  acts.map((act) => caller('payer', act, ending));
const others = (acts: Act[], ending: typeof COMMIT | typeof ROLLBACK = COMMIT): Actor[] =>
  acts.map((act) => caller('other', act, ending));
/** They have looked, and so taken a snapshot, before they write. */
const withSnapshot = VERBS.map((act) => caller('payer', [find(), act], SNAPSHOT));

/** A claim in flight is one whose transaction is open. */
const CLAIM = node('first', claim(), COMMIT);
const BROKEN_CLAIM = node('first', claim(), ROLLBACK);
const SWEEP = node('second', sweep(), COMMIT);
const holders = (acts: Act[], ending: typeof COMMIT | typeof ROLLBACK = COMMIT): Actor[] =>
  acts.map((act) => node(HOLDER, act, ending));
/** A transactional attempt that ends well, one whose handler throws, and one that breaks off at its end. */
const DONE = node(HOLDER, [close(), remove()], COMMIT);
const FAILED = node(HOLDER, close(), ROLLBACK);
const BROKEN = node(HOLDER, [close(), remove()], ROLLBACK);
/** Another node's attempt, from its claim to its end. */
const TAKEN_OVER = node('second', [sweep(), begin(), close(), remove(), commit()]);

const PAYERS = [
  caller('payer', [pay(), cancel()], COMMIT),
  caller('payer', [cancel(), pay()], COMMIT),
];

/** Everybody of the one list meets everybody of the other. */
type Meeting = [before: State, payers: Actor[], others: Actor[]];

const MEETINGS: Meeting[] = [
  ['due', payers([...VERBS, schedule('error')]), [CLAIM, BROKEN_CLAIM]],
  ['due', payers(CHANGES, ROLLBACK), [CLAIM]],
  ['due', [CLAIM], [node('second', claim(), COMMIT), node('second', claim(), ROLLBACK)]],
  ['dead', payers([retryDead()]), [SWEEP]],

  // Nothing gets past a lease that runs, and what ends the attempt decides what is met then.
  ['running', payers(VERBS), holders([complete(), fail()])],
  ['running', payers([cancel(), schedule('replace'), retryDead()]), holders([failForGood()])],
  ['running', payers([cancel(), schedule('keep')]), [...holders([renew()]), DONE]],

  // The lease is over and nobody has claimed the row again: whoever comes first has it.
  ['lease over', payers(VERBS), holders([complete(), fail(), renew()])],
  // The session of the engine's statement broke.
  ['lease over', payers(VERBS), holders([complete()], ROLLBACK)],
  ['lease over', payers(CHANGES), holders([fail(), renew()], ROLLBACK)],
  ['lease over', payers([...VERBS, retryDead()]), [DONE, FAILED]],
  ['lease over', payers(CHANGES, ROLLBACK), [DONE]],
  ['lease over', [DONE], [SWEEP, node('second', sweep(), ROLLBACK)]],
  ['lease over', [DONE, BROKEN], [TAKEN_OVER]],
  ['lease over', [BROKEN], [node('second', [sweep(), complete()])]],

  // Who pays locks the order first, or the delay.
  ['running', PAYERS, [DONE]],
  ['lease over', PAYERS, [DONE]],

  // The same new key in two transactions: one row, and one of them made it.
  ['nothing', payers(ALL.slice(2, 5)), others([schedule('replace')])],
  ['nothing', payers(ALL.slice(2, 5)), others([schedule('replace')], ROLLBACK)],
  ['dead', payers([...VERBS, retryDead()]), others([retryDead()])],
  ['dead', payers([...VERBS, retryDead()]), others([retryDead()], ROLLBACK)],
  ['dead', payers([retryDead()]), others([cancel(), schedule('replace')])],
  ['due', payers(VERBS.slice(1)), others([cancel()])],
  ['due', payers(VERBS.slice(1)), others([cancel()], ROLLBACK)],
  ['due', payers([schedule('replace')]), others([reschedule()])],

  ['due', withSnapshot, [CLAIM]],
  ['running', withSnapshot, [node(HOLDER, complete())]],
  ['lease over', withSnapshot, [DONE]],
  ['lease over', payers(VERBS), [node(HOLDER, [close(), remove()], SNAPSHOT)]],
  ['due', withSnapshot, others([cancel()])],
  ['nothing', withSnapshot, [caller('other', schedule('replace'))]],
  ['dead', withSnapshot, [caller('other', schedule('replace'))]],

  // Whoever cancels and schedules again makes a new row.
  [
    'due',
    [caller('payer', [cancel(), schedule('replace')], COMMIT)],
    [CLAIM, node('first', sweep())],
  ],
];

const MANY: Scenario[] = [
  {
    before: { a: 'nothing', b: 'due' },
    actors: [caller('shop', scheduleMany('a', 'b'), COMMIT), caller('payer', cancel('b'), COMMIT)],
  },
  {
    before: { a: 'due', b: 'nothing' },
    actors: [
      caller('shop', scheduleMany('b', 'a'), COMMIT),
      caller('payer', scheduleMany('a', 'b'), COMMIT),
    ],
  },
  {
    before: { a: 'due', b: 'due' },
    actors: [caller('shop', scheduleMany('b', 'a'), COMMIT), CLAIM],
  },
];

/** A lease runs out while its node writes, and somebody sweeps. */
const late = (holder: Actor, other: Actor): Scenario => ({
  before: 'running',
  actors: [holder, time(expire()), other],
});

const LATE: Scenario[] = [
  // By the name in the lease, nothing could be told: only by the epoch.
  ...[complete(), fail(), failForGood(), renew()].map((act) =>
    late(node(HOLDER, act, COMMIT), node('the same', sweep(), {}, HOLDER)),
  ),
  // Another node runs the delay to its end; a wheel has an entry for the end of the lease.
  late(node(HOLDER, [renew(), complete()]), node('second', [sweep(), complete()])),
  late(node(HOLDER, [renew(), complete()]), node('second', claim())),
];

describe('two sessions', () => {
  inEveryOrder([
    ...MEETINGS.flatMap(([before, left, right]) =>
      left.flatMap((one) => right.map((other) => ({ before, actors: [one, other] }))),
    ),
    ...MANY,
    ...LATE,
  ]);
});
