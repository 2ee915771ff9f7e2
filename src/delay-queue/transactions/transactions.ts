import { type DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import type { InTransaction } from '../api/delay.js';
import {
  DelayError,
  DelayOutcomeUnknownError,
  DelayShutdownError,
  DelayUnavailableError,
} from '../api/errors.js';
import { BorrowedConnection, poolOptionsOf } from '../database/application-pool.js';
import { queryTimeoutMsOf } from '../database/connection-config.js';
import {
  explained,
  isInFailedTransaction,
  isReadOnly,
  isRefusal,
  isTooMuch,
  ranOutOfTime,
} from '../database/driver-errors.js';
import type { CallersPool } from '../database/own-pool.js';
import type { Runner } from '../database/runner.js';
import type { StatementSize } from '../store/statement-size.js';
import {
  aloneBy,
  type CallersTransaction,
  despiteDeadlocks,
  dropData,
  isInTransaction,
  isStillOpen,
  openOn,
  runnerOf,
  transactionOf,
} from './callers-transaction.js';
import { TransactionEnds } from './commit-hooks.js';
import type { Surrounding } from './handler-context.js';
import { transactionIsOver } from './transaction-end.js';

/**
 * Statements of callers without a transaction. Each is its own transaction, with a time limit. If
 * one was sent and not answered, its error says that it may have happened.
 */
export class OutsideTransactions {
  /** Reads, on the application's pool. */
  readonly reads: Runner = { query: (sql, parameters) => this.#read(sql, parameters) };
  readonly writes: Runner = {
    query: (sql, parameters) => despiteDeadlocks(() => this.#write(sql, parameters)),
  };
  /** Writes for many callers: on the engine's connections for callers, with TypeORM's errors. */
  readonly together: Runner = {
    query: (sql, parameters) => despiteDeadlocks(() => this.#together(sql, parameters)),
  };

  constructor(
    private readonly dataSource: DataSource,
    private readonly engine: CallersPool,
  ) {}

  /** How long a caller waits for a connection and an answer together. */
  get limitMs(): number {
    return queryTimeoutMsOf(poolOptionsOf(this.dataSource));
  }

  /** Runs statements in one transaction. Errors before its COMMIT say that nothing was written. */
  async transaction<Result>(
    work: (manager: EntityManager, runner: Runner) => Promise<Result>,
  ): Promise<Result> {
    return this.#borrowed(async (connection) => {
      const { runner } = connection;
      let isCommitting = false;
      try {
        await connection.answered(runner.startTransaction());
        const result = await work(runner.manager, {
          query: (sql, parameters) => connection.query(sql, parameters),
          transaction: 'ours',
        });
        isCommitting = true;
        await connection.answered(runner.commitTransaction());
        return result;
      } catch (error) {
        if (isCommitting) throw outcomeOf(error);
        await connection.answered(runner.rollbackTransaction()).catch(() => {});
        throw withoutEffect(error);
      }
    });
  }

  /** Uses the application's pool when the engine has no connection free. Both share one limit. */
  async #together<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const byMs = performance.now() + this.limitMs;
    try {
      const rows = await this.engine.callers?.tryQuery<Row>(sql, parameters);
      if (rows !== undefined) return rows;
    } catch (error) {
      dropData(error);
      if (ranOutOfTime(error))
        throw new DelayUnavailableError('the server ran out of time for the statement', error);
      if (!isRefusal(error)) throw outcomeOf(error);
      if (isOfSession(error)) throw withoutEffect(error);
      throw new QueryFailedError(sql, undefined, error as Error);
    }
    return this.#write<Row>(sql, parameters, byMs - performance.now());
  }

  #write<Row>(sql: string, parameters: unknown[], limitMs = this.limitMs): Promise<Row[]> {
    return this.#borrowed(async (connection) => {
      try {
        return await connection.query<Row>(sql, parameters);
      } catch (error) {
        throw outcomeOf(error);
      }
    }, limitMs);
  }

  #read<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.#borrowed(async (connection) => {
      try {
        return await connection.query<Row>(sql, parameters);
      } catch (error) {
        throw withoutEffect(error);
      }
    });
  }

  async #borrowed<Result>(
    work: (connection: BorrowedConnection) => Promise<Result>,
    limitMs = this.limitMs,
  ): Promise<Result> {
    const connection = await BorrowedConnection.take(this.dataSource, limitMs);
    try {
      return await work(connection);
    } catch (error) {
      dropData(error);
      throw error;
    } finally {
      await connection.release();
    }
  }
}

/** Keeps a refusal of the server. After any other error the statement may have happened. */
function outcomeOf(error: unknown): unknown {
  if (isOfSession(error)) return withoutEffect(error);
  return isOutcome(error) ? error : new DelayOutcomeUnknownError(causeOf(error));
}

/** The same for statements that wrote nothing, since their COMMIT was never sent. */
function withoutEffect(error: unknown): unknown {
  if (isOfSession(error)) {
    const why = `the session from the pool takes no writes (${(error as Error).message})`;
    return new DelayUnavailableError(why, causeOf(error));
  }
  return isOutcome(error)
    ? error
    : new DelayUnavailableError('the connection was lost before the answer came', causeOf(error));
}

/** Refusals of the session, not the statement: it is read-only, or in a failed transaction. */
const isOfSession = (error: unknown): boolean => isReadOnly(error) || isInFailedTransaction(error);

const isOutcome = (error: unknown): boolean => isRefusal(error) || error instanceof DelayError;

/** The driver's own error, without data. */
function causeOf(error: unknown): unknown {
  dropData(error);
  return error instanceof QueryFailedError ? error.driverError : error;
}

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
