import { type Mutant, patch } from './mutant.js';

const JOINS = ['integration/foreign-transactions'];
const OWN = ['integration/own-transactions'];
const OWN_TRANSACTION = 'core/worker/own-transaction.ts';

/** Holes in calls that join the transaction of another library, and in handlers that complete in one. */
export const FOREIGN_TRANSACTIONS: Readonly<Record<string, Mutant>> = {
  'joins-any-transaction': {
    about: 'writes into whatever transaction the statement meets, or into none',
    patches: [
      patch(
        'core/database/text-statement.ts',
        '`(CASE WHEN ${PRESENT_NUMBER} = ${next(0)} THEN ${next(Number(digits))} END)`',
        'next(Number(digits))',
      ),
    ],
    tests: JOINS,
  },
  'reports-what-was-not-written': {
    about: 'answers a verdict although the statement found another transaction',
    patches: [
      patch(
        'core/transactions/foreign-transaction.ts',
        'if (now?.number !== number) throw isOver();',
        '',
      ),
    ],
    tests: JOINS,
  },
  'keeps-a-number-for-ever': {
    about: 'takes the next transaction of a client for the one before it',
    patches: [
      patch(
        'core/transactions/foreign-transaction.ts',
        'if (!this.hasOwnObject) return this.#begin();',
        '',
      ),
    ],
    tests: JOINS,
  },
  'hints-nothing-inside': {
    about: 'leaves what is due soon to the next load',
    patches: [
      patch(
        'core/client/announcements.ts',
        'return this.engine.hintInside(joined.runner(), written);',
        'return undefined;',
      ),
    ],
    tests: JOINS,
  },
  'completes-what-a-savepoint-undid': {
    about: 'says "completed" of a delay whose removal was rolled back to a savepoint',
    patches: [patch(OWN_TRANSACTION, 'rows.some(({ epoch }) => epoch === attempt.epoch)', 'false')],
    tests: OWN,
  },
  'does-not-wait-for-the-commit': {
    about: 'takes a transaction that is still open for one that has rolled back',
    patches: [patch(OWN_TRANSACTION, "status === 'in progress' ? undefined : ", '')],
    tests: OWN,
  },
  'believes-the-library': {
    about:
      'says "completed" because the handler resolved and the row is gone, whatever became of its transaction',
    patches: [patch(OWN_TRANSACTION, "!== 'committed') continue;", "=== 'forgotten') continue;")],
    tests: OWN,
  },
};
