import type { EntityManager } from 'typeorm';
import type { DelayStore } from '../store/delay.store.js';
import type { Runner } from '../store/wire/runner.js';
import type { Placed, NewDelay } from '../store/wire/delay-rows.js';
import { isRefusal } from '../database/driver-errors.js';
import { isTooMuch } from '../store/sql-state.js';
import { StatementSize } from '../store/statement-size.js';
import { ownAttempt, type OwnKeyWrites } from './own-key.js';
import { withFirstInstants } from './recurrence/first-instants.js';
import type { CallersTransaction } from './transaction/callers-transaction.js';
import { inSmallerStatements } from './transaction/smaller-statements.js';
import type { Transactions } from './transaction/transactions.js';

/** Those of a whole call. */
const DELAYS_MAX = 10_000;

/** The rows in the order of the delays, and the manager of their transaction, if it has one. */
export interface AllWritten {
  placed: readonly Placed[];
  manager?: EntityManager;
}

/** Writes the delays of one `scheduleMany`: all of them, or none. */
export class AllOrNone {
  readonly #size = new StatementSize(DELAYS_MAX);

  constructor(
    private readonly store: DelayStore,
    private readonly ownKey: OwnKeyWrites,
    private readonly transactions: Transactions,
  ) {}

  /**
   * One statement, where the transaction is the call's own, no key is taken, and none was too large before.
   * @param sorted in lock order
   */
  async write(sorted: readonly NewDelay[], transaction: CallersTransaction): Promise<AllWritten> {
    const { manager, runner, inOrder } = transaction;
    if (
      manager === undefined &&
      sorted.length <= this.#size.now &&
      !sorted.some((delay) => ownAttempt(manager, delay))
    ) {
      const placed = await inOrder(sorted, () => this.#atOnce(sorted, runner));
      if (placed !== undefined) return { placed };
    }
    return await inOrder(sorted, () =>
      inSmallerStatements(this.#size, transaction, sorted.length, (most) =>
        this.transactions.run(transaction, async (joined, its) => {
          const timed = await withFirstInstants(this.store, its, sorted);
          const placed: Placed[] = [];
          for (let from = 0; from < timed.length; from += most) {
            const part = timed.slice(from, from + most);
            placed.push(...(await this.ownKey.scheduleAll(joined, its, part)));
          }
          return { placed, manager: joined };
        }),
      ),
    );
  }

  /** Undefined: a key is taken, or it was too much for a limit of the server. Nothing was written then. */
  async #atOnce(
    sorted: readonly NewDelay[],
    runner: Runner,
  ): Promise<readonly Placed[] | undefined> {
    const timed = await withFirstInstants(this.store, runner, sorted);
    try {
      return await this.#size.run(sorted.length, () => this.store.placeAll(runner, timed));
    } catch (error) {
      if (sorted.length > 1 && isRefusal(error) && isTooMuch(error)) return undefined;
      throw error;
    }
  }
}
