import type { DataSource, EntityManager } from 'typeorm';
import type { InTransaction } from '../../delay/delay.js';
import { DelayShutdownError } from '../../delay/delay.errors.js';
import { despiteDeadlocks } from './deadlock.js';
import type { Runner } from '../../store/wire/runner.js';
import {
  aloneBy,
  type CallersTransaction,
  isInTransaction,
  runnerOf,
  transactionOf,
} from './callers-transaction.js';
import type { OutsideTransactions } from './outside-transactions.js';

/** The transactions in which calls write and read. */
export class Transactions {
  readonly #writesAlone: CallersTransaction;
  readonly #readsAlone: CallersTransaction;

  /** @param calls once they are closed, no call gets a transaction of its own */
  constructor(
    private readonly dataSource: DataSource,
    private readonly outside: OutsideTransactions,
    private readonly calls: { readonly isClosed: boolean },
  ) {
    this.#writesAlone = aloneBy(outside.writes);
    this.#readsAlone = aloneBy(outside.reads);
  }

  /** @throws DelayShutdownError without a manager, once TypeORM closes its pool */
  of(options: InTransaction, kind: 'read' | 'write'): CallersTransaction {
    const transaction = transactionOf(this.dataSource, options, kind);
    if (transaction !== undefined) return transaction;
    if (this.calls.isClosed) throw new DelayShutdownError();
    return kind === 'read' ? this.#readsAlone : this.#writesAlone;
  }

  /**
   * Runs the several statements of one call in one transaction: the caller's, if the caller has begun one, or one
   * that begins and ends here.
   */
  async run<Result>(
    { manager, runner }: CallersTransaction,
    write: (manager: EntityManager, runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    if (manager === undefined) {
      return await despiteDeadlocks(() => this.outside.transaction(write));
    }
    if (await isInTransaction(manager)) return await write(manager, runner);
    return await despiteDeadlocks(() =>
      manager.transaction((ours) => write(ours, { ...runnerOf(ours), transaction: 'ours' })),
    );
  }
}
