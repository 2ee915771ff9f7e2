import { type Mutant, patch } from './mutant.js';

const UNFIT = ['integration/unfit-sessions'];
const POOL = 'core/database/application-pool.ts';
const OUTSIDE = 'core/transactions/outside-transactions.ts';

/** What fell short behind a real failover, each with its mend taken out. */
export const FAILOVERS: Readonly<Record<string, Mutant>> = {
  'keeps-read-only-sessions': {
    about: 'gives sessions that take no writes back to the pool of the application',
    patches: [patch(POOL, 'isOld || this.#unfit.has(client)', 'isOld')],
    tests: UNFIT,
  },
  'keeps-failed-sessions': {
    about: 'gives a session back that it was given in a transaction that had failed',
    patches: [
      patch('core/database/borrowed-connection.ts', ' || isInFailedTransaction(error)', ''),
    ],
    tests: UNFIT,
  },
  'tells-of-read-only-sessions': {
    about: 'throws 25006 where another try would do',
    patches: [
      patch(OUTSIDE, 'if (isOfSession(error)) throw withoutEffect(error);', ''),
      patch(OUTSIDE, 'if (isOfSession(error)) return withoutEffect(error);', ''),
    ],
    tests: UNFIT,
  },
  'waits-twice': {
    about: 'waits for a connection, and then as long for its first answer',
    patches: [
      patch(
        'core/database/borrowed-connection.ts',
        'this.#hasAnswered ? this.limitMs : this.firstByMs - performance.now()',
        'this.limitMs',
      ),
    ],
    tests: ['unit/database/borrowed-connection'],
  },
  'counts-from-the-statement': {
    about: 'counts the limit of a call from its statement, however long it waited for that',
    patches: [
      patch(
        'core/client/coalesced-writes.ts',
        'if (this.#expiry === undefined) this.#expireNext();',
        '',
      ),
    ],
    tests: ['unit/client/coalesced-writes'],
  },
  'pauses-alone': {
    about: 'pauses as long as it would, though another task works again',
    patches: [
      patch(
        'core/tasks/task-health.ts',
        'const woken = [...this.#pausing];',
        'const woken: (() => void)[] = [];',
      ),
    ],
    tests: ['unit/tasks/tasks', 'unit/worker/begin-cool-down'],
  },
  'wakes-whom-nothing-held': {
    about: 'ends all pauses each time that something works',
    patches: [patch('core/tasks/task-health.ts', 'if (!this.#failing) return;', '')],
    tests: ['unit/tasks/tasks'],
  },
  'claims-pause-alone': {
    about: 'claims nothing for as long as it would, though another task works again',
    patches: [
      patch('core/worker/loop.ts', 'claimer.whenAnotherWorks(() => this.#turn.resume());', ''),
    ],
    tests: ['unit/worker/loop'],
  },
  'says-it-each-time': {
    about: 'says of what comes and goes each time that it works again',
    patches: [patch('core/module/delay.log.ts', 'WORKS_AGAIN_AFTER_MS).unref()', '0).unref()')],
    tests: ['unit/delay.log'],
  },
  'forgets-what-it-said': {
    about: 'says each failure behind a success',
    patches: [
      patch(
        'core/module/delay.log.ts',
        'if (!this.#open.has(task)) return;',
        'this.#failedAtMs.delete(task);',
      ),
    ],
    tests: ['unit/delay.log'],
  },
  'believes-its-listener': {
    about: 'does not ask whether the server answers over the connection that listens',
    patches: [patch('core/worker/loader.ts', 'void this.parts.listener.ask();', '')],
    tests: ['integration/engine/deaf-listener'],
  },
  'listens-elsewhere': {
    about: 'does not look whether its lock is held where its loads are answered',
    patches: [
      patch('core/worker/loader.ts', 'session !== undefined && page.isHeld === false', 'false'),
    ],
    tests: ['integration/engine/deaf-listener'],
  },
  'proves-it-once': {
    about: 'keeps the pool of the application for calls when its proof failed at the start',
    patches: [
      patch(
        'core/cluster/session-proof.ts',
        "if (hearing !== 'unknown') return hearing === 'heard';",
        "return hearing === 'heard';",
      ),
    ],
    tests: ['integration/engine/session-probe'],
  },
  'takes-a-hanging-commit-for-a-pooler': {
    about: 'takes LISTEN for dead when what should be heard could not be said',
    patches: [patch('core/cluster/hearing.ts', "wait('unknown');", "wait('silent');")],
    tests: ['integration/engine/session-probe'],
  },
  'finds-them-one-by-one': {
    about: 'sends on connections that were opened before one that does not answer',
    patches: [
      patch(
        'core/database/own-pool.ts',
        'if ((this.#openedAtMs.get(client) ?? 0) >= this.#openedBeforeMs) return client;',
        'return client;',
      ),
    ],
    tests: ['unit/database/own-pool'],
  },
  'leaves-the-pool-as-it-is': {
    about: 'leaves the sessions of the application in its pool when its own fall silent',
    patches: [
      patch(
        'core/database/engine-connections.ts',
        'if (this.#watched !== undefined) renewPool(this.#watched, openedBeforeMs);',
        '',
      ),
    ],
    tests: ['integration/engine/silent-sessions'],
  },
  'leaves-sessions-behind': {
    about: 'leaves one more session behind with each statement that hangs',
    patches: [patch('core/database/own-pool.ts', 'this.#unanswered.add(client.processID);', '{}')],
    tests: ['unit/database/own-pool'],
  },
  'claims-nothing-and-works': {
    about: 'takes a claim that finds nothing for one that works, while another hangs at its COMMIT',
    patches: [
      patch(
        'core/worker/claimer.ts',
        'if (rows.length > 0 || !this.#mayBeHidden) this.#worked();',
        'this.#worked();',
      ),
    ],
    tests: ['unit/worker/claimer'],
  },
};
