import { type Mutant, patch } from './mutant.js';

const LOCK = 'store/tables/advisory-lock.ts';

/** What a stranger in the database, or a hostile text, can do: each with its mend taken out. */
export const STRANGERS: Readonly<Record<string, Mutant>> = {
  'waits-for-a-strangers-lock': {
    about: 'waits for an advisory lock in the server',
    patches: [
      patch(
        LOCK,
        'SELECT pg_catalog.pg_try_advisory_xact_lock(${NUMBER})::pg_catalog.text AS taken',
        "SELECT 'true' AS taken FROM pg_catalog.pg_advisory_xact_lock(${NUMBER})",
      ),
    ],
    tests: ['integration/advisory-locks'],
  },
  'shows-strangers-names-as-they-are': {
    about: 'writes the names of a stranger into its errors as they are',
    patches: [patch(LOCK, 'printable(text, SHOWN_LENGTH_MAX)', 'text')],
    tests: ['integration/advisory-locks'],
  },
};
