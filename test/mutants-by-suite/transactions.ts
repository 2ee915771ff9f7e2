import { type Mutant, patch } from './mutant.js';

const GUARD = 'core/transactions/transaction-guard.ts';
const SESSION = 'core/transactions/attempt-session.ts';
const AHEAD = 'core/transactions/begin-ahead.ts';
const COMPLETER = 'core/worker/completer.ts';
const AFTER_COMMIT = 'core/transactions/commit-hooks.ts';
const JOIN = 'core/module/join-transactions.ts';

/** A transaction in which the library is called does not see to it. */
const ONLY_AT_THE_START = patch(
  AFTER_COMMIT,
  '    this.#subscribe();\n    // The server reports an end',
  '    // The server reports an end',
);

/** What others do with a transaction, a DataSource, or a connection that the library has to do with, too. */
export const SHARED_TRANSACTIONS: Readonly<Record<string, Mutant>> = {
  'leaves-for-all': {
    about: 'takes the subscriber away with the first application of several',
    patches: [
      patch(AFTER_COMMIT, 'this.#holders.delete(holder);', 'this.#holders.clear();'),
      ONLY_AT_THE_START,
    ],
    tests: ['integration/several-applications'],
  },
  'leaves-at-once': {
    about: 'takes the subscriber away in the middle of a transaction',
    patches: [
      patch(
        AFTER_COMMIT,
        'if (this.#holders.size + this.#pending.size + this.#untold.size > 0) return;',
        'if (this.#holders.size > 0) return;',
      ),
    ],
    tests: ['integration/several-applications'],
  },
  'subscribes-once': {
    about: 'is in the first list of subscribers alone',
    patches: [
      patch(AFTER_COMMIT, 'if (this.#holders.size > 0) this.#subscribe();', ''),
      ONLY_AT_THE_START,
    ],
    tests: ['integration/several-applications'],
  },
  'listens-for-ever': {
    about: 'leaves its listeners on connections of the application',
    patches: [patch(AFTER_COMMIT, 'SessionWatch.endAll(this.dataSource);', '')],
    tests: ['integration/several-applications'],
  },
  'replaces-any-commit': {
    about: "takes a subscriber's own COMMIT for that of the attempt",
    patches: [
      patch(
        GUARD,
        'const answer = await instead();\n    this.#sendsCommit = undefined;',
        'const answer = await instead();',
      ),
    ],
    tests: ['integration/handlers-transaction/others'],
  },
  'refuses-nested-subscribers': {
    about: 'lets no subscriber have a transaction inside of the COMMIT',
    patches: [patch(GUARD, 'this.#isEngine\n        ? startTransaction(level)\n        : ', '')],
    tests: ['integration/handlers-transaction/others'],
  },
  'stops-the-application': {
    about:
      'has the DataSource wait for the runner of a handler, which the attempt alone may release',
    patches: [
      patch(
        SESSION,
        '    SessionWatch.beginIfConnected(runner);\n',
        '    SessionWatch.beginIfConnected(runner);\n    dataSource.driver.connectedQueryRunners.push(runner);\n',
      ),
    ],
    tests: ['integration/handlers-transaction/sessions'],
  },
  'borrows-from-the-application': {
    about: "runs attempts on connections of the application's pool",
    patches: [
      patch(
        SESSION,
        'await engine.attempts.connect();',
        'await dataSource.driver.master.connect();',
      ),
    ],
    tests: ['integration/handlers-transaction/sessions'],
  },
  'leaves-the-statement': {
    about: 'lets go of a session whose statement goes on, and holds its locks, on the server',
    patches: [patch(SESSION, '    await this.#terminate();\n', '')],
    tests: ['integration/handlers-transaction/sessions'],
  },
  'begins-outside': {
    about: 'sends the first statement of a handler without what begins its transaction',
    patches: [patch(AHEAD, 'if (this.isWaiting) this.#send(', 'if (false) this.#send(')],
    tests: [
      'integration/handlers-transaction/commit',
      'integration/handlers-transaction/first-statements',
    ],
  },
  'begins-apart': {
    about:
      'has the server run the first statement of a handler although its transaction has not begun',
    patches: [
      patch(AHEAD, '      wire.execute({});\n', '      wire.execute({});\n      wire.sync();\n'),
    ],
    tests: ['integration/handlers-transaction/first-statements'],
  },
  'waits-for-a-skipped-statement': {
    about:
      'lets a session wait for ever that has skipped a statement because its transaction did not begin',
    patches: [patch(AHEAD, 'if (this.#isSimple) this.wire.sync();', '')],
    tests: ['integration/handlers-transaction/first-statements'],
  },
  'answers-with-the-begin': {
    about: 'gives a handler the answers of BEGIN with its own',
    patches: [patch(AHEAD, 'this.#hides(message) || emit(', 'void this.#hides(message) || emit(')],
    tests: ['integration/handlers-transaction/first-statements'],
  },
  'spends-an-attempt-on-a-dead-session': {
    about: 'counts an attempt whose session had ended before its transaction began',
    patches: [
      patch(
        SESSION,
        'if (this.#ahead?.hasFailed || (isUnfit && this.#ahead?.isWaiting)) return true;',
        '',
      ),
    ],
    tests: ['integration/handlers-transaction/sessions'],
  },
  'believes-an-unanswered-commit': {
    about: 'tells that an attempt has completed whose COMMIT did not happen',
    patches: [
      patch(
        COMPLETER,
        "if (outcome.kind === 'completed') this.#complete(attempt);",
        "if (outcome.kind === 'completed' || attempt.isCommitting) this.#complete(attempt);",
      ),
    ],
    tests: ['integration/handlers-transaction/sessions'],
  },
  'loses-an-unanswered-commit': {
    about: 'tells that an attempt was lost whose COMMIT has happened, and was not answered',
    patches: [patch(COMPLETER, 'if (attempt.isCommitting && ', 'if (false && ')],
    tests: ['integration/handlers-transaction/sessions'],
  },
  'commits-any-transaction': {
    about: 'removes its rows in whatever transaction is open by then',
    patches: [patch(SESSION, '      this.#unlessAnother();\n', '')],
    tests: ['integration/handlers-transaction/ended-by-sql'],
  },
  'does-not-ask-the-server': {
    about: 'takes each ROLLBACK within a transaction for one to a savepoint',
    patches: [patch(SESSION, ' || (hasRolledBack && this.#ahead?.rollsBack)', '')],
    tests: ['integration/handlers-transaction/ended-by-sql'],
  },
  'takes-each-rollback-for-the-end': {
    about: 'takes a ROLLBACK to a savepoint for that of the transaction',
    patches: [patch(SESSION, ' && this.#ahead?.rollsBack)', ')')],
    tests: ['integration/handlers-transaction/ended-by-sql'],
  },
  'knows-no-prepared-rollback': {
    about: 'looks at the texts of statements alone, not at those that the session knows by a name',
    patches: [patch(AHEAD, 'bind: this.#prepared(statement)', 'bind: undefined')],
    tests: ['integration/handlers-transaction/ended-by-sql'],
  },
  'a-batch-does-not-give-way': {
    about: 'lets the removal of a batch wait for a caller that holds a row',
    patches: [
      patch(
        'core/store/sql/attempts.sql.ts',
        'WITH ${clock(tables, GIVES_WAY)},\ninput AS MATERIALIZED (',
        'WITH ${clock(tables, { waitsMs: 60_000, restores: true })},\ninput AS MATERIALIZED (',
      ),
    ],
    tests: ['integration/handlers-transaction/gives-way'],
  },
  'lets-a-paused-process-hold-its-locks': {
    about: 'sets no limit for an idle transaction on the sessions of attempts',
    patches: [
      patch(
        'core/database/sessions.sql.ts',
        "set_config('idle_in_transaction_session_timeout', $1::int::text, false)",
        "set_config('idle_in_transaction_session_timeout', ($1::int * 0)::text, false)",
      ),
    ],
    tests: ['integration/handlers-transaction/sessions'],
  },
  'joins-nothing': {
    about: 'lets services of a transactional handler begin transactions of their own',
    patches: [patch(JOIN, 'inside.setTxInstance(manager);', '')],
    tests: ['integration/joined-transactions'],
  },
  'asks-no-surrounding': {
    about: 'refuses a write of a joined service that names no transaction',
    patches: [
      patch(
        'core/transactions/transactions.ts',
        'const isAsked = !isTransactional || isJoined(acting);',
        'const isAsked = !isTransactional;',
      ),
    ],
    tests: ['integration/joined-transactions'],
  },
  'ends-past-subscribers': {
    about: 'commits an attempt of which a subscriber of the application should hear',
    patches: [
      patch(AFTER_COMMIT, 'subscribers.some(hearsTransactions)', 'subscribers.length === 0'),
    ],
    tests: ['integration/handlers-transaction/others'],
  },
  'ends-past-what-waits': {
    about: 'commits an attempt without telling the calls of the library that wait for its end',
    patches: [patch(AFTER_COMMIT, 'this.#pending.has(runner) ||', '')],
    tests: ['integration/engine/destroyed'],
  },
  'ends-past-wrapped-runners': {
    about: 'begins and commits attempts without the methods that the application has replaced',
    patches: [
      patch(
        SESSION,
        'dataSource === undefined || this.guard.isWrapped',
        'dataSource === undefined',
      ),
    ],
    tests: ['integration/engine/trouble'],
  },
  'logs-half-an-attempt': {
    about: 'logs no COMMIT of an attempt',
    patches: [patch(SESSION, 'logQuery(runner, COMMIT);', '')],
    tests: ['integration/handlers-transaction/others'],
  },
};
