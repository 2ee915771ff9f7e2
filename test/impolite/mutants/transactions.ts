import { type ImpoliteMutant, patch } from '../../mutants-by-suite/mutant.js';

const SAVEPOINT = "A hidden savepoint undid the caller's own writes";
const HALF_A_CALL = 'A branch moved what `scheduleMany` took back';
const BEHIND_THE_END = 'A call went out behind the end of its transaction';
const AFTER_THE_END = 'Effects of failed attempts were committed';
const CHAINED = 'What began behind COMMIT AND CHAIN was taken for the same transaction';
const UNREAD = 'A handler ended its transaction in a text that was misread';
const FOREIGN = "A foreign message rode on a handler's transaction";

/** Mutants that do in a transaction what is not theirs to do, or believe what its end was not. */
export const TRANSACTIONS: Record<string, ImpoliteMutant> = {
  'looks-behind-a-savepoint': {
    about:
      'waits behind a savepoint for who holds a row, and rolls back to it when it wrote nothing',
    hole: SAVEPOINT,
    patches: [
      patch(
        'core/store/delay.store.ts',
        `  return (await look(runner.transaction === undefined ? 'a while' : 'at once'))[0];
`,
        `  const isWithin = runner.transaction !== undefined;
  if (isWithin) await runner.query('SAVEPOINT look', []);
  const [placed] = await look('a while');
  if (isWithin) {
    const wroteNothing = ['running', 'absent', 'again'].includes(placed?.verdict ?? 'again');
    if (wroteNothing) await runner.query('ROLLBACK TO SAVEPOINT look', []);
    await runner.query('RELEASE SAVEPOINT look', []);
  }
  return placed;
`,
      ),
    ],
    kinds: ['callers'],
    programs: 20,
    blamedBy: ['lost write', 'false verdict'],
    tests: ['integration/parallel-branches'],
  },
  'calls-in-any-order': {
    about: 'lets a call see what another call of the same transaction has not finished',
    hole: HALF_A_CALL,
    patches: [
      patch(
        'core/transactions/calls-in-order.ts',
        '      if (before !== undefined) await before;\n',
        '',
      ),
    ],
    kinds: ['callers'],
    programs: 60,
    blamedBy: ['false verdict'],
    tests: ['integration/parallel-branches'],
  },
  'sends-behind-the-end': {
    about: 'takes a transaction for open until the COMMIT or ROLLBACK that was sent is answered',
    hole: BEHIND_THE_END,
    patches: [
      patch(
        'core/transactions/commit-hooks.ts',
        `  return ending !== undefined && (ending.sent > 0 || ending.isOver);
`,
        `  return ending !== undefined && ending.isOver;
`,
      ),
    ],
    kinds: ['callers'],
    programs: 40,
    blamedBy: ['effect outside'],
    tests: ['integration/transactions'],
  },
  'never-seals': {
    about: 'leaves the manager of a handler open when its attempt is decided',
    hole: AFTER_THE_END,
    patches: [
      patch(
        'core/transactions/transaction-guard.ts',
        `    this.#isOver = true;
    this.#handlers.seal();
`,
        '',
      ),
    ],
    kinds: ['callers'],
    programs: 20,
    blamedBy: ['effect outside'],
    tests: ['integration/handlers-transaction/after-the-end'],
  },
  'believes-its-own-commit': {
    about: 'takes an attempt for committed although Postgres has rolled it back',
    hole: '`completed`, and COMMIT had been answered by ROLLBACK',
    patches: [
      patch(
        'core/transactions/attempt-session.ts',
        `      throw isInFailedTransaction(error) ? new DelayRolledBackError() : error;
`,
        `      if (isInFailedTransaction(error)) return { command: 'COMMIT' } as QueryResult;
      throw error;
`,
      ),
    ],
    kinds: ['callers'],
    programs: 40,
    blamedBy: ['false completed', 'forgotten lease'],
    tests: ['integration/handlers-transaction/commit'],
  },
  'believes-the-callers-commit': {
    about: 'lets a caller believe in a COMMIT that the server answered by ROLLBACK',
    hole: "A caller's COMMIT that was answered by ROLLBACK, unnoticed",
    patches: [
      patch(
        'core/transactions/commit-hooks.ts',
        "return ended?.end === 'rolled back' ? Promise.reject(new DelayRolledBackError()) : undefined;",
        'return void ended;',
      ),
    ],
    kinds: ['callers'],
    programs: 30,
    blamedBy: ['false commit'],
    tests: ['integration/memory-and-rows'],
  },
  'joins-by-context': {
    about: 'puts a call without a manager into the transaction of the handler whose context it has',
    hole: FOREIGN,
    patches: [
      patch(
        'core/transactions/transactions.ts',
        `  const chosen = managerIn(options);
`,
        `  const its = currentCall();
  const chosen = managerIn(options) ?? (its?.handler.transactional ? its.manager : undefined);
`,
      ),
    ],
    kinds: ['callers'],
    programs: 30,
    blamedBy: ['false verdict'],
    tests: ['integration/what-joins'],
  },
  'hears-the-last-answer': {
    about:
      "goes by the last answer before its session is idle, or takes the next transaction for the caller's",
    hole: CHAINED,
    patches: [
      patch(
        'core/database/session-watch.ts',
        `        return this.#over('committed');
`,
        `        return void (this.#last = tag);
`,
      ),
      patch(
        'core/database/session-watch.ts',
        `    if (!this.#isOpen && wasOpen) this.#over('rolled back');
`,
        `    if (!this.#isOpen && wasOpen) this.#over(this.#last === 'COMMIT' ? 'committed' : 'rolled back');
    this.#last = '';
`,
      ),
      patch(
        'core/database/session-watch.ts',
        `  #transactions = 0;
`,
        `  #transactions = 0;
  #last = '';
`,
      ),
    ],
    kinds: ['callers'],
    programs: 60,
    blamedBy: ['late', 'false verdict', 'false commit'],
    tests: ['integration/ends-of-transactions'],
  },
  'reads-comments-as-one': {
    about: 'ends a comment at the first mark, as no comment within it could',
    hole: UNREAD,
    patches: [
      patch(
        'core/transactions/transaction-end.ts',
        "depth += mark === '/*' ? 1 : -1;",
        "depth = mark === '/*' ? 1 : 0;",
      ),
    ],
    kinds: ['callers'],
    programs: 120,
    blamedBy: ['effect outside', 'lost write'],
    tests: ['integration/handlers-transaction/ended-by-sql', 'unit/transactions/transaction-end'],
  },
};
