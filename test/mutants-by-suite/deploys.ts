import { type Mutant, patch } from './mutant.js';

const MIXED = ['integration/mixed-versions'];

/** Holes that show while two versions of an application run beside each other. Each with its mend taken out. */
export const DEPLOYS: Readonly<Record<string, Mutant>> = {
  'fails-what-it-cannot-read': {
    about: 'spends attempts on payloads that another node can read',
    patches: [
      patch(
        'core/worker/call.ts',
        "{ kind: 'unreadable', error: outcome.error }",
        "{ kind: 'failed', error: outcome.error }",
      ),
    ],
    tests: MIXED,
  },
  'passes-to-and-fro': {
    about: 'takes again what another node could not read either',
    patches: [
      patch(
        'core/worker/jobs.ts',
        'epoch === left.epoch || refused === true',
        'epoch === left.epoch',
      ),
    ],
    tests: ['unit/worker/completer'],
  },
  'passes-for-ever': {
    about: 'passes on to nodes that have refused it',
    patches: [
      patch(
        'core/store/sql/attempts.sql.ts',
        "AND n.process <> ALL (COALESCE(d.refused_by, '{}'))",
        '',
      ),
    ],
    tests: MIXED,
  },
  'leaves-it-to-the-gone': {
    about: 'leaves to others what it could not read when the others are gone',
    patches: [patch('core/worker/worker.ts', 'this.parts.jobs.leaveNothing();', '')],
    tests: MIXED,
  },
  'postpones-by-nothing': {
    about: 'calls a handler again at once that postpones by nothing',
    patches: [
      patch('core/worker/call.ts', 'const POSTPONED_MS_MIN = 100;', 'const POSTPONED_MS_MIN = 0;'),
    ],
    tests: ['integration/engine/outcomes'],
  },
  'prunes-what-others-keep': {
    about: 'deletes lines of history that another node keeps',
    patches: [
      patch(
        'core/store/sql/history.sql.ts',
        'AND NOT ($8::boolean AND',
        'AND NOT ($8::boolean AND false AND',
      ),
    ],
    tests: ['integration/history'],
  },
  'prunes-all-names-alike': {
    about: 'deletes lines of history that are kept longer by their name',
    patches: [
      patch('core/store/sql/history.sql.ts', '(d.name = ANY ($6::text[])) <> $7::boolean', 'true'),
    ],
    tests: ['integration/history'],
  },
  'withdraws-what-is-others': {
    about: 'withdraws what another deployment declares',
    patches: [
      patch(
        'core/store/sql/recurrences.sql.ts',
        "COALESCE(d.repeat ->> 'deployment'::text, '') = $6::text",
        '$6::text IS NOT NULL',
      ),
    ],
    tests: ['integration/recurrences/deployments'],
  },
  'overwrites-what-is-others': {
    about: 'changes what another deployment declares',
    patches: [patch('core/store/sql/recurrences.sql.ts', ' AND NOT ${IS_FOREIGN}`', '`')],
    tests: ['integration/recurrences/deployments'],
  },
  'withdraws-in-silence': {
    about: 'does not tell what its start withdraws',
    patches: [
      patch(
        'core/worker/declarations.ts',
        "events.emit('withdrawn', { name, key, repeat });",
        'void [name, key, repeat];',
      ),
    ],
    tests: ['integration/recurrences/deployments'],
  },
  'runs-by-half': {
    about: 'runs what recurs in a way that it does not know',
    patches: [patch('core/recurrence/recurrence.ts', 'checkKnown(repeat);', '')],
    tests: MIXED,
  },
};
