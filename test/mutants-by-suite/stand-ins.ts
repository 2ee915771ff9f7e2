import { type Mutant, patch } from './mutant.js';

const ROWS = 'testing/stub-client.ts';

/** The stand-in for unit tests answers what the table would not. */
export const STAND_INS: Readonly<Record<string, Mutant>> = {
  'stub-keeps-the-later': {
    about: "has the stand-in replace by `onConflict: 'earlier'` what is due at the same time",
    patches: [
      patch(ROWS, 'return dueMs < old.dueAt.getTime();', 'return dueMs <= old.dueAt.getTime();'),
    ],
    tests: ['integration/testing/stub-contract'],
  },
  'stub-forgets-recurrence': {
    about: 'has the stand-in forget how a delay recurs that a call replaces without saying so',
    patches: [
      patch(
        ROWS,
        'if (repeat === null) row.repeat = old.repeat;',
        'if (repeat === null) row.repeat = null;',
      ),
    ],
    tests: ['integration/testing/stub-contract'],
  },
};
