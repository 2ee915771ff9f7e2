import { type Mutant, patch } from './mutant.js';

const GUARD = 'transactions/transaction-guard.ts';
const SESSION = 'transactions/attempt-session.ts';
const AFTER_COMMIT = 'transactions/commit-hooks.ts';
const JOIN = 'join-transactions.ts';

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
    patches: [patch(GUARD, 'if (!this.#isCommitting) return this.client.query(COMMIT);', '')],
    tests: ['integration/handlers-transaction/others'],
  },
  'refuses-nested-subscribers': {
    about: 'lets no subscriber have a transaction inside of the COMMIT',
    patches: [patch(GUARD, 'this.#isEngine\n        ? startTransaction(level)\n        : ', '')],
    tests: ['integration/handlers-transaction/others'],
  },
  'stops-the-application': {
    about:
      'lets nobody release the runner of a handler, so that its DataSource cannot be destroyed',
    patches: [patch(SESSION, '    this.#standInForRunner();\n  }', '  }')],
    tests: ['integration/handlers-transaction/others'],
  },
  'leaves-the-statement': {
    about: 'lets go of a connection whose statement goes on, and holds its locks, on the server',
    patches: [patch(SESSION, 'this.#ending = this.#terminate();', '')],
    tests: ['integration/handlers-transaction/others'],
  },
  'commits-any-transaction': {
    about: 'removes its rows in whatever transaction is open by then',
    patches: [patch(SESSION, 'if (isAnother) throw wasEnded();', '')],
    tests: ['integration/handlers-transaction/ended-by-sql'],
  },
  'does-not-ask-the-server': {
    about: 'takes each ROLLBACK within a transaction for one to a savepoint',
    patches: [
      patch(SESSION, 'isAnother = now?.transaction !== this.#known?.transaction;', 'void now;'),
    ],
    tests: ['integration/handlers-transaction/ended-by-sql'],
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
        'transactions/callers-transaction.ts',
        'const isAsked = !isTransactional || isJoined(acting);',
        'const isAsked = !isTransactional;',
      ),
    ],
    tests: ['integration/joined-transactions'],
  },
  'ends-past-subscribers': {
    about: 'commits an attempt of which a subscriber of the application should hear',
    patches: [
      patch(
        AFTER_COMMIT,
        'subscribers.some((each) => !(each instanceof TransactionEnds))',
        'subscribers.length === 0',
      ),
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
      patch(SESSION, 'dataSource === undefined || this.#isWrapped', 'dataSource === undefined'),
    ],
    tests: ['integration/engine/begin', 'integration/engine/trouble'],
  },
  'logs-half-an-attempt': {
    about: 'logs no COMMIT of an attempt',
    patches: [patch(SESSION, 'logged(runner, COMMIT);', '')],
    tests: ['integration/handlers-transaction/others'],
  },
};
