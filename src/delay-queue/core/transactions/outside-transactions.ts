import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { DelayError, DelayOutcomeUnknownError, DelayUnavailableError } from '../api/errors.js';
import { givenPoolOptions } from '../database/postgres-driver.js';
import { BorrowedConnection } from '../database/borrowed-connection.js';
import { effectiveQueryTimeoutMs } from '../database/connection-config.js';
import {
  dropData,
  isInFailedTransaction,
  isReadOnly,
  isRefusedByServer,
  ranOutOfTime,
  readSqlState,
} from '../database/driver-errors.js';
import type { CallersPool } from '../database/own-pool.js';
import { PgDataSource } from '../database/pg-data-source.js';
import type { Runner } from '../database/runner.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import { TransactionEnds } from './commit-hooks.js';

/**
 * Statements of callers without a transaction. Each is its own transaction, with a time limit. If
 * one was sent and not answered, its error says that it may have happened.
 */
export class OutsideTransactions {
  /** Reads, on the application's pool. */
  readonly reads: Runner = {
    query: (sql, parameters) => this.#send('query', withoutEffect, sql, parameters),
  };
  /** Reads of many rows, or with a large plan: see {@link BorrowedConnection.look}. */
  readonly looks: Runner = {
    query: (sql, parameters) => this.#send('look', withoutEffect, sql, parameters),
  };
  /** The same on the engine's connections for callers, if one is free. */
  readonly aside: Runner = { query: (sql, parameters) => this.#aside(sql, parameters) };
  readonly writes: Runner = {
    query: (sql, parameters) =>
      despiteDeadlocks(() => this.#send('query', asOutcome, sql, parameters)),
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
    return effectiveQueryTimeoutMs(givenPoolOptions(this.dataSource));
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
        if (isCommitting) throw asOutcome(error);
        await connection.answered(runner.rollbackTransaction()).catch(() => {});
        TransactionEnds.of(this.dataSource).neverCommitted(runner);
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
      if (!isRefusedByServer(error)) throw asOutcome(error);
      if (isOfSession(error)) throw withoutEffect(error);
      throw await asTypeorms(this.dataSource, sql, error as Error);
    }
    return this.#send<Row>('query', asOutcome, sql, parameters, byMs - performance.now());
  }

  async #aside<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const byMs = performance.now() + this.limitMs;
    const rows = await this.engine.callers?.tryQuery<Row>(sql, parameters).catch(() => undefined);
    if (rows !== undefined) return rows;
    return this.#send<Row>('look', withoutEffect, sql, parameters, byMs - performance.now());
  }

  /** @param explained says of an error whether the statement may have happened */
  #send<Row>(
    how: 'query' | 'look',
    explained: (error: unknown) => unknown,
    sql: string,
    parameters: unknown[],
    limitMs = this.limitMs,
  ): Promise<Row[]> {
    return this.#borrowed(async (connection) => {
      try {
        return await connection[how]<Row>(sql, parameters);
      } catch (error) {
        throw explained(error);
      }
    }, limitMs);
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

/** As a call in a transaction of TypeORM throws it. */
async function asTypeorms(dataSource: DataSource, sql: string, error: Error): Promise<Error> {
  if (dataSource instanceof PgDataSource) return error;
  const { QueryFailedError } = await import('typeorm');
  return new QueryFailedError(sql, undefined, error);
}

/** Keeps a refusal of the server. After any other error the statement may have happened. */
function asOutcome(error: unknown): unknown {
  if (isOfSession(error)) return withoutEffect(error);
  return isOutcome(error) ? error : new DelayOutcomeUnknownError(driverCause(error));
}

/** The same for statements that wrote nothing, since their COMMIT was never sent. */
function withoutEffect(error: unknown): unknown {
  if (isOfSession(error)) {
    const why = `the session from the pool takes no writes (${(error as Error).message})`;
    return new DelayUnavailableError(why, driverCause(error));
  }
  return isOutcome(error)
    ? error
    : new DelayUnavailableError(
        'the connection was lost before the answer came',
        driverCause(error),
      );
}

/** Refusals of the session, not the statement: it is read-only, or in a failed transaction. */
const isOfSession = (error: unknown): boolean => isReadOnly(error) || isInFailedTransaction(error);

const isOutcome = (error: unknown): boolean =>
  isRefusedByServer(error) || error instanceof DelayError;

/** The driver's own error, without data. */
function driverCause(error: unknown): unknown {
  dropData(error);
  return error instanceof Error && 'driverError' in error ? error.driverError : error;
}

/** Postgres breaks a deadlock by failing one of its transactions, which is undone. */
const DEADLOCK = '40P01';

/** Pauses double between tries, with full jitter, so that the same two do not meet again. */
const TRIES_MAX = 8;
const PAUSE: Growth = { firstMs: 8, factor: 2, lastMs: 2_048, jitter: 1 };

/**
 * Repeats work that was a deadlock's victim: a whole transaction, or a statement that is one.
 * `scheduleMany` locks in one order, but a key cancelled meanwhile is inserted out of order.
 */
export async function despiteDeadlocks<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES_MAX || readSqlState(error) !== DEADLOCK) throw error;
    }
    await pause(pauseMs(PAUSE, tries));
  }
}
