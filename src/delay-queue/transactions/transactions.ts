import type { DataSource, EntityManager } from 'typeorm';
import type { InTransaction } from '../api/delay.js';
import { DelayShutdownError } from '../api/errors.js';
import { explained, isRefusal, isTooMuch } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import type { StatementSize } from '../store/statement-size.js';
import {
  aloneBy,
  type CallersTransaction,
  despiteDeadlocks,
  isInTransaction,
  isStillOpen,
  openOn,
  runnerOf,
  transactionOf,
} from './callers-transaction.js';
import { TransactionEnds } from './commit-hooks.js';
import type { Surrounding } from './handler-context.js';
import type { OutsideTransactions } from './outside-transactions.js';
import { transactionIsOver } from './transaction-end.js';

/** Chooses and runs the transactions in which calls write and read. */
export class Transactions {
  readonly #ends: TransactionEnds;
  readonly #writesAlone: CallersTransaction;
  readonly #readsAlone: CallersTransaction;

  /**
   * @param calls once closed, no call gets its own transaction
   * @param schema of the tables
   * @param surrounding finds the transaction of calls that name none
   */
  constructor(
    private readonly dataSource: DataSource,
    private readonly outside: OutsideTransactions,
    private readonly calls: { readonly isClosed: boolean },
    private readonly schema: string,
    private readonly surrounding: Surrounding | undefined,
  ) {
    this.#ends = TransactionEnds.of(dataSource);
    this.#writesAlone = this.#explaining(aloneBy(outside.writes));
    this.#readsAlone = this.#explaining(aloneBy(outside.reads));
  }

  /** @throws DelayShutdownError for calls without a manager, once TypeORM closes its pool */
  of(options: InTransaction, kind: 'read' | 'write'): CallersTransaction {
    this.#ends.stay();
    const transaction = transactionOf(this.dataSource, options, kind, this.surrounding);
    if (transaction !== undefined) return this.#explaining(transaction);
    if (this.calls.isClosed) throw new DelayShutdownError();
    return kind === 'read' ? this.#readsAlone : this.#writesAlone;
  }

  /** Explains errors only at the end of the call: inside, the original decides what to do. */
  #explaining(transaction: CallersTransaction): CallersTransaction {
    return {
      ...transaction,
      inOrder: async (targets, call) => {
        try {
          return await transaction.inOrder(targets, call);
        } catch (error) {
          throw explained(error, this.schema);
        }
      },
    };
  }

  /**
   * Awaits the input of a call. Its transaction was chosen before: the surrounding one may change.
   * @throws DelayShutdownError as {@link of}; DelayInvalidError if that transaction is over by then
   */
  async inTime<Given>({ manager }: CallersTransaction, given: Promise<Given>): Promise<Given> {
    const runner = manager?.queryRunner;
    const open = runner === undefined ? undefined : openOn(runner);
    const there = await given;
    if (manager === undefined && this.calls.isClosed) throw new DelayShutdownError();
    if (runner !== undefined && open !== undefined && !isStillOpen(open, runner))
      throw transactionIsOver();
    return there;
  }

  /** Runs a call's statements in one transaction: the caller's open one, or one that ends here. */
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

/**
 * Repeats a transaction with smaller statements when one of them exceeded a limit of the server;
 * nothing was written then. A caller's transaction has failed, and is the caller's to repeat.
 * @param total items of all statements together
 * @param work runs the transaction, with at most `most` items in a statement
 */
export async function inSmallerStatements<Result>(
  size: StatementSize,
  { manager }: CallersTransaction,
  total: number,
  work: (most: number) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const most = Math.max(1, Math.min(size.now, total));
    const beganAtMs = performance.now();
    try {
      const result = await work(most);
      size.worked(most, (performance.now() - beganAtMs) / Math.ceil(total / most));
      return result;
    } catch (error) {
      if (!isRefusal(error) || !isTooMuch(error)) throw error;
      size.failed(most);
      if (manager !== undefined || most === 1) throw error;
    }
  }
}
