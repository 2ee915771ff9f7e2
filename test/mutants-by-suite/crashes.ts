import { type Mutant, patch } from './mutant.js';

const CLAIM = 'core/store/sql/claim.sql.ts';
const PRESENCE = 'core/store/sql/fragments/clock.ts';
const SWEEP = 'core/store/sql/fetch.sql.ts';

/** Attempts that are taken over when their process is gone: each rule of that taken out. */
export const CRASHES: Readonly<Record<string, Mutant>> = {
  'waits-for-the-lease': {
    about: 'leaves what a dead process had in hand to its lease',
    patches: [patch(SWEEP, 'IS TRUE AS orphaned', 'IS TRUE AND false AS orphaned')],
    tests: ['integration/orphaned-attempts', 'cluster/orphaned'],
  },
  'takes-over-plain-attempts': {
    about: 'takes over attempts of plain handlers, whose effects nothing fences',
    patches: [patch('core/worker/claimer.ts', 'fenced: handler.transactional', 'fenced: true')],
    tests: ['cluster/orphaned'],
  },
  'names-a-lock-for-plain-attempts': {
    about: 'lets an attempt of a plain handler keep the lock that a version before it had named',
    patches: [patch(CLAIM, 'CASE WHEN l.fenced THEN $7::bigint END', '$7::bigint')],
    tests: ['integration/orphaned-attempts'],
  },
  'trusts-heartbeats': {
    about: 'takes a node for dead that has not beaten for a while, although its session lives',
    patches: [
      patch(
        PRESENCE,
        'AND NOT (${row}.lease_lock = ANY (${HELD_LOCKS})))`',
        'AND NOT EXISTS (SELECT FROM delay_queue.node n WHERE n.id = ${row}.leased_by))`',
      ),
    ],
    tests: ['integration/orphaned-attempts'],
  },
  'takes-over-without-an-epoch': {
    about: 'claims under the same epoch, by which the other one would still pass the fence',
    patches: [patch(CLAIM, 'epoch = d.epoch + 1`', 'epoch = d.epoch`')],
    tests: ['integration/orphaned-attempts'],
  },
  'takes-over-its-own': {
    about: 'takes over its own attempts while its listening connection is cut',
    patches: [patch(PRESENCE, '${row}.lease_lock <> ${own}', '${row}.lease_lock <> 0 * ${own}')],
    tests: ['integration/orphaned-attempts'],
  },
  'trusts-one-look': {
    about: 'takes over at the first look, while a process makes its connection anew',
    patches: [patch(SWEEP, 'ORPHANED_FOR_MS = 1_000', 'ORPHANED_FOR_MS = 0')],
    tests: ['integration/orphaned-attempts'],
  },
  'puts-orphans-off': {
    about: 'lets the next page put off what was found without its process',
    patches: [
      patch('core/worker/timer-queue.ts', 'known.orphaned && wake.epoch', 'false && wake.epoch'),
    ],
    tests: ['unit/worker/offers'],
  },
  'needs-two-places': {
    about: 'counts the place of the attempt that it takes over',
    patches: [
      patch(
        'core/store/sql/claim.sql.ts',
        'runs AND id <> ALL (ARRAY(SELECT s.id FROM seen s WHERE s.orphaned))',
        'runs',
      ),
    ],
    tests: ['integration/orphaned-attempts'],
  },
  'closes-before-its-attempts': {
    about: 'gives its lock back as soon as it closes, while its attempts go on',
    patches: [patch('core/worker/worker.ts', 'listener.retire()', 'listener.stop()')],
    tests: ['integration/orphaned-attempts'],
  },
};
