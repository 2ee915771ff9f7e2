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

/** The transactions in which calls write and read. */
export class Transactions {
  readonly #ends: TransactionEnds;
  readonly #writesAlone: CallersTransaction;
  readonly #readsAlone: CallersTransaction;

  /**
   * @param calls once they are closed, no call gets a transaction of its own
   * @param schema where the tables are
   * @param surrounding for calls that name no transaction
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

  /** @throws DelayShutdownError without a manager, once TypeORM closes its pool */
  of(options: InTransaction, kind: 'read' | 'write'): CallersTransaction {
    this.#ends.stay();
    const transaction = transactionOf(this.dataSource, options, kind, this.surrounding);
    if (transaction !== undefined) return this.#explaining(transaction);
    if (this.calls.isClosed) throw new DelayShutdownError();
    return kind === 'read' ? this.#readsAlone : this.#writesAlone;
  }

  /** What Postgres says is explained when the call is over: inside, its own words decide what to do next. */
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
   * Waits for what a call is about. Its transaction was chosen before: what surrounds the call may be another by then.
   *
   * @throws DelayShutdownError as {@link of}; DelayInvalidError when that transaction is over by then
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

/**
 * Does a whole transaction again, with smaller statements, when one of them was too much for a limit of the server:
 * nothing of it was written then. A caller's transaction is over by that, and is the caller's to begin again.
 *
 * @param total of all its statements together
 * @param work takes on no more in one statement
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
