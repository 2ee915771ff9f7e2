import { type Mutant, patch } from './mutant.js';

const ORDER = 'dashboard/operation-order.ts';
const RUNS = 'dashboard/operations.ts';
const ROUTES = 'dashboard/routes.ts';
const HANDLER = 'dashboard/handler.ts';
const refused = ['integration/dashboard/refused-operations'];
const long = ['integration/dashboard/long-operations'];
const short = ['integration/dashboard/operations'];

const NO_RIGHT = '  if (!rights.may(rightFor(action))) throw notFound();\n';
const ONLY_SEEN = '  if (!rights.sees({ name, group: group ?? null })) throw notFound();\n';

/** Ways for a viewer to change what they may not, and for an operation to say what is not so. */
export const DASHBOARD_OPERATIONS: Readonly<Record<string, Mutant>> = {
  'any-viewer-acts': {
    about: 'carries out orders of viewers who lack the right',
    patches: [patch(ORDER, NO_RIGHT, '')],
    tests: refused,
  },
  'resumes-for-viewers': {
    about: 'ends pauses for viewers who may not pause',
    patches: [
      patch(
        'dashboard/contract.ts',
        "action === 'resume' ? 'pause' : action",
        "action === 'resume' ? 'view' : action",
      ),
    ],
    tests: refused,
  },
  'changes-other-names': {
    about: 'changes delays of names that the viewer may not see',
    patches: [
      patch(
        'dashboard/search-filter.ts',
        'allowed(asked.name, names)',
        'allowed(asked.name, null)',
      ),
    ],
    tests: refused,
  },
  'changes-other-groups': {
    about: 'changes delays of groups that the viewer may not see',
    patches: [
      patch(
        'dashboard/search-filter.ts',
        'allowed(asked.group, groups)',
        'allowed(asked.group, null)',
      ),
    ],
    tests: refused,
  },
  'creates-for-others': {
    about: 'creates delays of names that the viewer may not see, and pauses them',
    patches: [patch(ORDER, ONLY_SEEN, '')],
    tests: refused,
  },
  'takes-any-page': {
    about: 'takes orders without the header that only its page can send',
    patches: [patch(HANDLER, "(method !== 'POST' || headers[CHANGE_HEADER] === '1')", 'true')],
    tests: refused,
  },
  'takes-any-site': {
    about: 'takes orders of which the browser says that they come from another site',
    patches: [patch(HANDLER, 'if (isOwn && (', 'if ((')],
    tests: refused,
  },
  'shows-all-operations': {
    about: 'shows a viewer with limits what others have done',
    patches: [
      patch(
        'dashboard/operation-log.ts',
        'seesAll ? null : JSON.stringify({ who, names, groups })',
        'seesAll ? null : (void [who, names, groups], null)',
      ),
    ],
    tests: refused,
  },
  'stops-for-viewers': {
    about: 'stops operations for viewers who could not begin them',
    patches: [
      patch(ROUTES, '      if (!rights.may(rightFor(operation.action))) throw notFound();\n', ''),
    ],
    tests: refused,
  },
  'acts-unwritten': {
    about: 'changes what it could not write down',
    patches: [
      patch(
        RUNS,
        '        scope: { names, groups },\n      });',
        "        scope: { names, groups },\n      }).catch(() => ({ id: '1', who }) as OperationLine);",
      ),
    ],
    tests: long,
  },
  'deaf-to-others': {
    about: 'goes on when another process is told to stop it',
    patches: [patch(RUNS, "    if (open.line.state === 'stopping') open.stop.abort();\n", '')],
    tests: long,
  },
  'deaf-while-it-waits': {
    about: 'begins an operation that was stopped while it waited',
    patches: [patch('dashboard/operation-deed.ts', '  doing.signal.throwIfAborted();\n', '')],
    tests: long,
  },
  'outlives-its-application': {
    about: 'holds up the end of its application until all is done',
    patches: [patch(RUNS, 'AbortSignal.any([stop.signal, this.queue.closing])', 'stop.signal')],
    tests: long,
  },
  'ends-unwritten': {
    about: 'closes its connections before an operation has written how it ended',
    patches: [patch(RUNS, '    this.queue.database.hold(ended);\n', '')],
    tests: long,
  },
  'lists-without-end': {
    about: 'lists all delays that an operation has changed',
    patches: [patch(RUNS, 'const LISTED_MAX = 10_000;', 'const LISTED_MAX = 10_000_000;')],
    tests: long,
  },
  'queues-without-end': {
    about: 'takes any number of operations',
    patches: [patch(RUNS, 'const OPEN_MAX = 20;', 'const OPEN_MAX = 20_000;')],
    tests: long,
  },
  'runs-for-ever': {
    about: 'shows an operation as running whose process has ended',
    patches: [patch('dashboard/store/operations.sql.ts', "THEN 'interrupted'", "THEN 'running'")],
    tests: long,
  },
  'never-forgets': {
    about: 'keeps operations without end',
    patches: [
      patch(
        'dashboard/store/operations.sql.ts',
        'WHERE id = ANY (ARRAY(\n    SELECT p.id',
        'WHERE false AND id = ANY (ARRAY(\n    SELECT p.id',
      ),
    ],
    tests: long,
  },
  'lets-operations-lapse': {
    about: 'lets other processes take an operation that waits for one that has ended',
    patches: [patch(RUNS, '      this.#keep();\n', '')],
    tests: ['unit/dashboard/operations'],
  },
  'gives-up-at-once': {
    about: 'does not try again to write down what it has done',
    patches: [patch(RUNS, 'const TRIES = 12;', 'const TRIES = 1;')],
    tests: ['servers/dashboard-operations'],
  },
  'creates-over-others': {
    about: 'replaces a delay that waits by one that a viewer creates',
    patches: [
      patch('dashboard/operation-deed.ts', "key === undefined ? undefined : 'error'", 'undefined'),
    ],
    tests: short,
  },
  'writes-payloads-down': {
    about: 'keeps payloads where they are neither encrypted nor redacted',
    patches: [patch(ORDER, ', payload: __, ...asked', ', ...asked')],
    tests: short,
  },
  'changes-without-a-name': {
    about: 'does not say who has changed a delay',
    patches: [
      patch(
        'dashboard/operation-deed.ts',
        '    by,\n    signal,',
        '    by: undefined as never,\n    signal,',
      ),
    ],
    tests: short,
  },
};
