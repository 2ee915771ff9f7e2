import { type Mutant, patch } from './mutant.js';

const LOCK = 'core/database/advisory-lock.ts';

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
  'ends-what-a-hint-names': {
    about: 'ends the attempts that a hint names',
    patches: [
      patch(
        'core/worker/abort-watch.ts',
        'if (ids.some((id) => this.parts.jobs.runs(id))) this.#hinted.ask();',
        'this.parts.jobs.abort(this.parts.jobs.running().filter(({ id }) => ids.includes(id)));',
      ),
    ],
    tests: ['integration/forged-hints'],
  },
  'looks-as-often-as-it-is-asked': {
    about: 'looks once for each hint',
    patches: [
      patch('core/tasks/trigger.ts', 'this.#lastAtMs + this.minEveryMs - performance.now()', '0'),
    ],
    tests: ['unit/tasks/tasks'],
  },
  'claims-as-often-as-places-are-told-of': {
    about: 'claims once for each place that a hint tells of',
    patches: [
      patch(
        'core/worker/hint-follower.ts',
        'if (this.#vacant.size > 0) this.#vacancies.ask();',
        'for (const { name, groupNumber } of of) this.parts.throttles.freedElsewhere(name, groupNumber);',
      ),
    ],
    tests: ['unit/worker/hint-follower'],
  },
  'takes-each-trigger-for-one-with-a-path': {
    about: 'says nothing of triggers whose functions have no search_path of their own',
    patches: [
      patch(
        'core/store/checks/tables.ts',
        "pg_catalog.starts_with(setting, 'search_path=')",
        'true) AND NOT (true',
      ),
    ],
    tests: ['security/foreign-owners'],
  },
  'tells-groups': {
    about: 'names groups in what each listener hears',
    patches: [
      patch(
        'core/cluster/hint.ts',
        'tuple.push(failed ? 1 : 0, groupNumber(group))',
        'tuple.push(failed ? 1 : 0, group)',
      ),
    ],
    tests: ['integration/forged-hints'],
  },
  'hears-of-aborts-by-hints-alone': {
    about: 'looks for aborts only when a hint comes',
    patches: [
      patch('core/worker/abort-watch.ts', 'return LOOK_EVERY_MS;', 'return 3_600_000;'),
      patch('core/worker/abort-watch.ts', '.start(LOOK_EVERY_MS)', '.start(3_600_000)'),
    ],
    tests: ['integration/forged-hints'],
  },
  'takes-what-is-asked-of-a-later-claim': {
    about: 'takes the wish to end a later attempt of the delay',
    patches: [patch('core/store/sql/attempts.sql.ts', 'r.epoch <= i.epoch', 'true')],
    tests: ['integration/abort/callers'],
  },
  'reads-no-row-of-a-group': {
    about: 'forgets hints of delays that have a group',
    patches: [patch('core/worker/hint-follower.ts', 'rows.ask(id, isAnyones)', 'true')],
    tests: ['cluster/hints'],
  },
  'logs-texts-as-they-are': {
    about: 'logs keys and errors as they are',
    patches: [
      patch(
        'core/api/log-lines.ts',
        'this.#logger.warn(`${printable(line)}',
        'this.#logger.warn(`${line}',
      ),
    ],
    tests: ['hostile/hostile-texts'],
  },
  'lets-texts-turn-their-direction': {
    about: 'shows what turns the direction of writing, and what cannot be seen',
    patches: [patch('core/api/error-text.ts', 'ACTS.test(kept) ?', '/\\p{Cc}/u.test(kept) ?')],
    tests: ['unit/api/printable', 'hostile/hostile-texts'],
  },
  'takes-lines-of-a-message-for-frames': {
    about: 'logs a line of a message that looks like a frame of a stack',
    patches: [
      patch(
        'core/api/error-text.ts',
        '(at < 0 ? stack : stack.slice(at + message.length))',
        'stack',
      ),
    ],
    tests: ['unit/api/printable'],
  },
  'takes-inherited-options': {
    about: 'takes for an option what another package has put into Object.prototype',
    patches: [
      patch(
        'core/config/known-options.ts',
        'if (value === undefined || Object.hasOwn(options, name)) return value;',
        'return value;',
      ),
    ],
    tests: ['hostile/inherited-options'],
  },
  'hands-on-options-that-inherit': {
    about: 'hands options on in an object that inherits what is in Object.prototype',
    patches: [
      patch(
        'core/config/known-options.ts',
        'Object.create(null) as Record<string, unknown>',
        '{} as Record<string, unknown>',
      ),
    ],
    tests: ['hostile/inherited-options'],
  },
  'reads-plain-payloads-in-spite-of-a-strict-codec': {
    about: 'reads a payload as it is that the strict codec has not written',
    patches: [
      patch(
        'core/config/payload-codec.ts',
        'if (codec?.strict !== true) return JSON.parse(text);',
        'return JSON.parse(text);',
      ),
    ],
    tests: ['integration/payload-codec'],
  },
};
