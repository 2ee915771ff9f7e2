import { type DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { dropData } from './callers-transaction.js';
import {
  DelayError,
  DelayOutcomeUnknownError,
  DelayUnavailableError,
} from '../../delay/delay.errors.js';
import { queryTimeoutMs } from '../../database/connection-config.js';
import type { CallersPool } from '../../database/own-pool.js';
import { poolOptionsOf } from '../../database/application-pool.js';
import { despiteDeadlocks } from './deadlock.js';
import type { Runner } from '../../store/wire/runner.js';
import { BorrowedConnection } from '../../database/borrowed-connection.js';
import { isRefusal, ranOutOfTime } from '../../database/driver-errors.js';

/**
 * Statements of callers without a transaction: each statement is a transaction of its own. No caller waits for
 * ever. When a statement was sent and not answered, its error says that nobody knows whether it happened.
 */
export class OutsideTransactions {
  /** For statements that read: on the application's pool. */
  readonly reads: Runner = { query: (sql, parameters) => this.#read(sql, parameters) };
  readonly writes: Runner = {
    query: (sql, parameters) => despiteDeadlocks(() => this.#write(sql, parameters)),
  };
  /**
   * For statements that write for many callers at once: on the engine's connections when it has some for
   * callers, with the errors that TypeORM would give.
   */
  readonly together: Runner = {
    query: (sql, parameters) => despiteDeadlocks(() => this.#together(sql, parameters)),
  };

  constructor(
    private readonly dataSource: DataSource,
    private readonly engine: CallersPool,
  ) {}

  /**
   * Several statements that are one transaction. An error before COMMIT is sent says that nothing was
   * written.
   */
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

  async #together<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    try {
      const rows = await this.engine.callers?.tryQuery<Row>(sql, parameters);
      if (rows !== undefined) return rows;
    } catch (error) {
      dropData(error);
      if (ranOutOfTime(error))
        throw new DelayUnavailableError('the server did not get to it in time', error);
      if (!isRefusal(error)) throw outcomeOf(error);
      throw new QueryFailedError(sql, undefined, error as Error);
    }
    return this.#write<Row>(sql, parameters);
  }

  #write<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.#borrowed(async (connection) => {
      try {
        return await connection.query<Row>(sql, parameters);
      } catch (error) {
        throw outcomeOf(error);
      }
    });
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
  ): Promise<Result> {
    const limitMs = queryTimeoutMs(poolOptionsOf(this.dataSource));
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

/** A refusal of the server stays as it is. After any other error nobody knows whether the statement happened. */
const outcomeOf = (error: unknown): unknown =>
  isOutcome(error) ? error : new DelayOutcomeUnknownError(causeOf(error));

/** The same for statements that wrote nothing, since their COMMIT was never sent. */
const withoutEffect = (error: unknown): unknown =>
  isOutcome(error)
    ? error
    : new DelayUnavailableError('the connection was lost before the answer came', causeOf(error));

const isOutcome = (error: unknown): boolean => isRefusal(error) || error instanceof DelayError;

/** The driver's own error, without data. */
function causeOf(error: unknown): unknown {
  dropData(error);
  return error instanceof QueryFailedError ? error.driverError : error;
}
