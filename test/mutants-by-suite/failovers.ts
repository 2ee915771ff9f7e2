import { type Mutant, patch } from './mutant.js';

const UNFIT = ['integration/unfit-sessions'];
const POOL = 'database/application-pool.ts';
const OUTSIDE = 'producer/transaction/outside-transactions.ts';

/** What fell short behind a real failover, each with its mend taken out. */
export const FAILOVERS: Readonly<Record<string, Mutant>> = {
  'keeps-read-only-sessions': {
    about: 'gives sessions that take no writes back to the pool of the application',
    patches: [patch(POOL, 'if (this.#unfit.has(client)) void client.end?.();', '')],
    tests: UNFIT,
  },
  'keeps-failed-sessions': {
    about: 'gives a session back that it was given in a transaction that had failed',
    patches: [patch('database/borrowed-connection.ts', ' || isInFailedTransaction(error)', '')],
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
        'database/borrowed-connection.ts',
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
        'producer/coalescing/coalesced-writes.ts',
        'if (this.#expiry === undefined) this.#expireNext();',
        '',
      ),
    ],
    tests: ['unit/producer/coalescing'],
  },
};
