import { type Mutant, patch } from './mutant.js';

const RERUN = 'core/store/sql/schedule.sql.ts';
const CANCEL = 'core/store/sql/delays.sql.ts';
const SPEC = ['integration/rerun'];
const MODEL = ['integration/rerun-model'];

/** What is kept of a key that runs, lost or taken for what it is not. Each with a mend taken out. */
export const RERUNS: Readonly<Record<string, Mutant>> = {
  'reruns-take-over-what-is-newer': {
    about: 'what is kept takes the place of what was scheduled since',
    patches: [
      patch(RERUN, 'const IS_NEWER = `f.created_at > w.asked_at`;', 'const IS_NEWER = `false`;'),
    ],
    tests: MODEL,
  },
  'reruns-leave-newer-dead-letters': {
    about: 'a dead letter that may have begun before the call was committed is where the key ends',
    patches: [patch(RERUN, 'AND (f.dead OR NOT (${IS_NEWER}))', 'AND NOT (${IS_NEWER})')],
    tests: MODEL,
  },
  'reruns-keep-the-first-call': {
    about: 'of two calls the first one counts',
    patches: [
      patch(
        RERUN,
        'SET id = excluded.id, payload = excluded.payload',
        'SET id = excluded.id, payload = r.payload',
      ),
    ],
    tests: SPEC,
  },
  'reruns-outlive-a-cancel': {
    about: 'a cancel finds the delay alone, and leaves what is kept',
    patches: [patch(CANCEL, 'WHERE r.at IS NOT NULL AND (s.ord', 'WHERE false AND (s.ord')],
    tests: SPEC,
  },
  'reruns-unseen-by-a-cancel': {
    about: 'a cancel does not ask whether anything is kept',
    patches: [patch(CANCEL, 'WHERE (SELECT EXISTS (SELECT FROM ${rerun}))', 'WHERE false')],
    tests: SPEC,
  },
  'reruns-outlive-a-cancel-of-what-waits': {
    about: 'a cancel of what waits, as a retry does, leaves what is kept of its key',
    patches: [
      patch(CANCEL, "NOT ${isLeased('d')} AND NOT ${hasRerun(tables)}", "NOT ${isLeased('d')}"),
      patch(
        'core/store/tables/functions.ts',
        'AND NOT EXISTS (SELECT FROM ${rerun} r WHERE r.name = _name AND r.key = _key)',
        '',
      ),
    ],
    tests: MODEL,
  },
  'reruns-only-while-it-runs': {
    about: 'what is committed when the run has ended is kept for ever',
    patches: [
      patch(RERUN, 'WHERE NOT EXISTS (SELECT FROM seen)', 'WHERE EXISTS (SELECT FROM seen)'),
    ],
    tests: SPEC,
  },
  'reruns-beside-the-run': {
    about: 'what is kept becomes the delay of its key while that runs',
    patches: [
      patch(RERUN, "`(NOT ${isLeased('d')} OR d.leased_until <= clock.now)`", "'true'"),
      patch(RERUN, '(NOT r.runs)::text AS is_over', "'true' AS is_over"),
    ],
    tests: SPEC,
  },
  'reruns-lost-by-a-reschedule': {
    about: 'a handler that moves its own key on loses what came meanwhile',
    patches: [
      patch(
        'core/store/sql/delays.sql.ts',
        'CASE WHEN $4::text IS NULL THEN d.created_at ELSE clock.now END',
        'clock.now',
      ),
    ],
    tests: SPEC,
  },
  'reruns-outlive-clear': {
    about: 'what is kept of one test runs in the next',
    patches: [
      patch(
        'core/store/sql/testing.sql.ts',
        'table !== tables.node)',
        'table !== tables.node && table !== tables.rerun)',
      ),
    ],
    tests: ['integration/testing/time-travel'],
  },
};
