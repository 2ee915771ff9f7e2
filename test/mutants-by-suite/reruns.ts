import { type Mutant, patch } from './mutant.js';

const RERUN = 'store/sql/delays/rerun.sql.ts';

/** What is kept of a key that runs, lost or taken for what it is not. Each with a mend taken out. */
export const RERUNS: Readonly<Record<string, Mutant>> = {
  'reruns-take-over-what-is-newer': {
    about: 'what is kept takes the place of what was scheduled since',
    patches: [
      patch(RERUN, 'const IS_NEWER = `f.created_at > w.asked_at`;', 'const IS_NEWER = `false`;'),
    ],
    tests: ['integration/rerun-model'],
  },
  'reruns-outlive-a-cancel': {
    about: 'a cancel finds the delay alone, and leaves what is kept',
    patches: [
      patch(
        'store/sql/delays/cancel.sql.ts',
        'WHERE s.ord IS NULL OR s.leased OR f.ord IS NOT NULL',
        'WHERE false',
      ),
    ],
    tests: ['integration/rerun'],
  },
  'reruns-only-while-it-runs': {
    about: 'what is committed when the run has ended is kept for ever',
    patches: [
      patch(RERUN, 'WHERE NOT EXISTS (SELECT FROM seen)', 'WHERE EXISTS (SELECT FROM seen)'),
    ],
    tests: ['integration/rerun'],
  },
};
