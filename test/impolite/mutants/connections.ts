import { type ImpoliteMutant, patch } from '../../mutants-by-suite/mutant.js';

const SILENT = 'Two silent connections stopped every write without a manager';

/** Longer than anybody waits, and as long as a timer of Node can be. */
const FOR_EVER_MS = '2 ** 31 - 1';

/** Mutants that do not get in, or wait for those who do not answer. */
export const CONNECTIONS: Record<string, ImpoliteMutant> = {
  'loses-the-password': {
    about: "copies what can be listed of the application's connection options",
    hole: 'No start with `host`, `username`, `password`',
    patches: [
      patch(
        'core/database/connection-config.ts',
        'Object.getOwnPropertyNames(options)\n    .filter((name) => !leftOut',
        'Object.keys(options)\n    .filter((name) => !leftOut',
      ),
    ],
    kinds: ['callers'],
    programs: 40,
    blamedBy: ['no start'],
    tests: ['servers/ways-in'],
  },
  'waits-for-ever': {
    about: 'gives calls without a manager no limit of time',
    hole: SILENT,
    patches: [
      patch(
        'core/database/connection-config.ts',
        `  tighter(options.query_timeout, QUERY_TIMEOUT_MS);
`,
        `  tighter(options.query_timeout, ${FOR_EVER_MS});
`,
      ),
    ],
    kinds: ['half-open'],
    programs: 6,
    blamedBy: ['hung'],
    tests: ['integration/half-open-callers'],
  },
  'keeps-its-place': {
    about: 'lets a statement that hangs keep its place until it is given up',
    hole: SILENT,
    patches: [
      patch(
        'core/client/coalescer.ts',
        'setTimeout(leave, GIVES_UP_PLACE_MS)',
        `setTimeout(leave, ${FOR_EVER_MS})`,
      ),
    ],
    kinds: ['half-open'],
    programs: 6,
    blamedBy: ['held up'],
    tests: ['integration/half-open-callers'],
  },
  'answers-floats': {
    about: 'answers a due time as a float, in as many digits as the role wants to see',
    hole: 'Settings of a role changed what was read',
    patches: [
      patch(
        'core/store/sql/delays.sql.ts',
        "${epochMs('COALESCE(m.due_at, s.due_at)')}::text AS due_ms",
        "(date_part('epoch', COALESCE(m.due_at, s.due_at)) * 1e3)::text AS due_ms",
      ),
    ],
    kinds: ['callers'],
    programs: 60,
    blamedBy: ['false verdict'],
    tests: ['integration/foreign-settings'],
  },
};
