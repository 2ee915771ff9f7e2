import { type Mutant, patch } from './mutant.js';

const CHANGED = ['integration/changed-tables'];
const EXPLAINED = 'core/database/driver-errors.ts';
const SHARED = ['integration/shared-databases'];

/** Holes that show where the database is not, or no longer, as the migration has made it. Each with its mend taken out. */
export const FOREIGN_STATES: Readonly<Record<string, Mutant>> = {
  'explains-no-call': {
    about: 'throws what Postgres says where a call meets a database that has changed',
    patches: [
      patch(
        'core/transactions/transactions.ts',
        'const explained = explainError(error, this.schema);',
        'const explained = error;',
      ),
    ],
    tests: CHANGED,
  },
  'explains-none-of-many': {
    about:
      'throws what Postgres says where calls that travel together meet a database that has changed',
    patches: [
      patch(
        'core/client/coalesced-writes.ts',
        'explainError(ownError(error), this.options.installation.schema)',
        'ownError(error)',
      ),
    ],
    tests: CHANGED,
  },
  'explains-what-is-not-ours': {
    about: 'takes what a trigger of the application misses for a table of its own',
    patches: [patch(EXPLAINED, '?.some((word) => ours.has(word)) ?? false', '!== null')],
    tests: CHANGED,
  },
  'explains-no-declaration': {
    about: 'tells of a declaration that it failed, and not what to do',
    patches: [
      patch(
        'core/worker/declarations.ts',
        'throw explainError(error, this.parts.options.schema);',
        'throw error;',
      ),
    ],
    tests: CHANGED,
  },
  'forgets-ids-that-ended': {
    about: 'gives ids again that history still holds',
    patches: [
      patch('core/store/checks/identity.ts', 'ORDER BY ended_at DESC LIMIT 1000', 'LIMIT 0'),
    ],
    tests: SHARED,
  },
  'cannot-tell-and-is-silent': {
    about: 'begins without a word where it may not read the sequence',
    patches: [
      patch(
        'core/store/checks/identity.ts',
        "if (readable !== 'true') {",
        "if (readable !== 'true') return ok('identity', '');\n  if (readable === undefined) {",
      ),
    ],
    tests: ['integration/least-privilege'],
  },
  'overlooks-paths': {
    about: 'overlooks environments that are told apart by a search_path',
    patches: [
      patch(
        'core/store/check-start.ts',
        'tablesIn ?? (await schemaOnPath(runner, schema))',
        'tablesIn',
      ),
    ],
    tests: SHARED,
  },
  'warns-of-every-path': {
    about: 'takes a search_path of a role for an environment, whatever else there is',
    patches: [patch('core/store/check-start.ts', 'AND EXISTS (', 'AND true OR EXISTS (')],
    tests: SHARED,
  },
};
