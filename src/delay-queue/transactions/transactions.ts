import type { DataSource, EntityManager } from 'typeorm';
import { ignoreRejection } from '../api/adopted.js';
import type { InTransaction } from '../api/delay.js';
import { DelayShutdownError } from '../api/errors.js';
import { bring, UNCOMPILED } from '../database/connection-config.js';
import { explained, isRefusal, isTooMuch } from '../database/driver-errors.js';
import type { Runner } from '../database/runner.js';
import type { StatementSize } from '../store/statement-size.js';
import {
  type Kind,
  type CallersTransaction,
  type CallsAlone,
  atOnce,
  transactionOf,
  openOn,
  isStillOpen,
  isInTransaction,
  runnerOf,
} from './callers-transaction.js';
import { TransactionEnds, transactionIsOver } from './commit-hooks.js';
import type { Surrounding } from './handler-context.js';
import { type OutsideTransactions, despiteDeadlocks } from './outside-transactions.js';

/** Chooses and runs the transactions in which calls write and read. */
export class Transactions {
  readonly #ends: TransactionEnds;
  readonly #alone: Readonly<Record<Kind, CallersTransaction>>;

  /**
   * @param calls order writes; once closed, no call gets its own transaction
   * @param schema of the tables
   * @param surrounding finds the transaction of calls that name none
   */
  constructor(
    private readonly dataSource: DataSource,
    private readonly outside: OutsideTransactions,
    private readonly calls: CallsAlone,
    private readonly schema: string,
    private readonly surrounding: Surrounding | undefined,
  ) {
    this.#ends = TransactionEnds.of(dataSource);
    const { writes, reads, looks, aside } = outside;
    const alone = (runner: Runner, inOrder = atOnce): CallersTransaction =>
      this.#explaining({ manager: undefined, runner, inOrder });
    this.#alone = {
      write: alone(writes, calls.inOrder),
      read: alone(reads),
      look: alone(looks),
      aside: alone(aside),
    };
  }

  /** @throws DelayShutdownError for calls without a manager, once TypeORM closes its pool */
  of(options: InTransaction, kind: Kind): CallersTransaction {
    this.#ends.stay();
    const transaction = transactionOf(this.dataSource, options, kind, this.surrounding);
    if (transaction !== undefined) return this.#explaining(transaction);
    if (this.calls.isClosed) throw new DelayShutdownError();
    return this.#alone[kind];
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
   * Awaits the payloads of a call. Its transaction was chosen before: the surrounding one may change.
   * @returns undefined when they are there
   * @throws DelayShutdownError as {@link of}; DelayInvalidError if that transaction is over by then
   */
  inTime(
    { manager }: CallersTransaction,
    ready: Promise<unknown> | undefined,
  ): Promise<void> | undefined {
    if (ready === undefined) return undefined;
    const runner = manager?.queryRunner;
    const open = runner === undefined ? undefined : openOn(runner);
    const arrived = ready.then(() => {
      if (manager === undefined && this.calls.isClosed) throw new DelayShutdownError();
      if (runner !== undefined && open !== undefined && !isStillOpen(open, runner))
        throw transactionIsOver();
    });
    // An earlier call about its key may fail the call first.
    return ignoreRejection(arrived);
  }

  /** Runs a call's statements in one transaction: the caller's open one, or one that ends here. */
  async run<Result>(
    { manager, runner }: CallersTransaction,
    write: (manager: EntityManager, runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    const writeAlone: typeof write = async (ours, ourRunner) => {
      // A statement for thousands of rows would be compiled.
      await bring(ourRunner, UNCOMPILED, 'transaction ends');
      return await write(ours, ourRunner);
    };
    if (manager === undefined) {
      return await despiteDeadlocks(() => this.outside.transaction(writeAlone));
    }
    if (await isInTransaction(manager)) return await write(manager, runner);
    return await despiteDeadlocks(() =>
      manager.transaction((ours) => writeAlone(ours, { ...runnerOf(ours), transaction: 'ours' })),
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
