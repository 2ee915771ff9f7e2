import type { EntityManager } from 'typeorm';
import type { DelayStore } from '../store/delay.store.js';
import type { Placed, NewDelay } from '../store/wire/delay-rows.js';
import { ownAttempt, type OwnKeyWrites } from './own-key.js';
import { withFirstInstants } from './recurrence/first-instants.js';
import type { CallersTransaction } from './transaction/callers-transaction.js';
import type { Transactions } from './transaction/transactions.js';

/** The rows in the order of the delays, and the manager of their transaction, if it has one. */
export interface AllWritten {
  placed: readonly Placed[];
  manager?: EntityManager;
}

/** Writes the delays of one `scheduleMany`: all of them, or none. */
export class AllOrNone {
  constructor(
    private readonly store: DelayStore,
    private readonly ownKey: OwnKeyWrites,
    private readonly transactions: Transactions,
  ) {}

  /**
   * One statement, where the transaction is the call's own and no key is taken.
   * @param sorted in lock order
   */
  async write(sorted: readonly NewDelay[], transaction: CallersTransaction): Promise<AllWritten> {
    const { manager, runner, inOrder } = transaction;
    if (manager === undefined && !sorted.some((delay) => ownAttempt(manager, delay))) {
      const placed = await inOrder(sorted, async () =>
        this.store.placeAll(runner, await withFirstInstants(this.store, runner, sorted)),
      );
      if (placed !== undefined) return { placed };
    }
    return await inOrder(sorted, () =>
      this.transactions.run(transaction, async (joined, its) => {
        const timed = await withFirstInstants(this.store, its, sorted);
        return { placed: await this.ownKey.scheduleAll(joined, its, timed), manager: joined };
      }),
    );
  }
}
