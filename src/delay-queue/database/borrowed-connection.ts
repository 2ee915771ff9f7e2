import type { ClientBase } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DelayUnavailableError } from '../delay/delay.errors.js';
import { isInFailedTransaction } from '../store/sql-state.js';
import type { Runner } from '../store/wire/runner.js';
import { LATE, within } from '../tasks/within.js';
import { isRefusal } from './driver-errors.js';

/** Of the limit: what a wait for a connection may take. The rest is for the first answer. */
const CONNECT_SHARE = 2 / 3;

/**
 * A connection of the application's pool, for statements outside of a caller's transaction. A statement on a
 * connection that died silently would wait for ever, and the pool would be one connection short. So a
 * connection that does not answer in time is closed, and the pool has its place back. The wait for it and for its first
 * answer share one limit.
 */
export class BorrowedConnection implements Runner {
  /** @throws DelayUnavailableError when the pool has no connection in time; nothing was sent then */
  static async take(dataSource: DataSource, limitMs: number): Promise<BorrowedConnection> {
    const firstByMs = performance.now() + limitMs;
    const connectMs = Math.round(limitMs * CONNECT_SHARE);
    const runner = dataSource.createQueryRunner('master');
    const connecting = runner.connect() as Promise<ClientBase>;
    const client = await within(connecting, connectMs).catch((error: unknown) => {
      const why = error instanceof Error ? ` (${error.message})` : '';
      throw new DelayUnavailableError(`the application's pool had no connection${why}`, error);
    });
    if (client === LATE) {
      const giveBack = (): Promise<void> => runner.release();
      void connecting.then(giveBack, () => {});
      throw new DelayUnavailableError(
        `no connection of the application's pool came free within ${connectMs} ms`,
      );
    }
    return new BorrowedConnection(runner, client, limitMs, firstByMs);
  }

  #isSilent = false;
  #hasAnswered = false;

  private constructor(
    readonly runner: QueryRunner,
    private readonly client: ClientBase & { end?: () => Promise<void> },
    private readonly limitMs: number,
    private readonly firstByMs: number,
  ) {}

  /** One statement. */
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.answered(this.runner.query(sql, parameters) as Promise<Row[]>);
  }

  /**
   * Waits for an answer. After an error the connection is used again only if the server itself refused: not where it
   * was handed out in a transaction that had failed, for nothing here sends more behind a failure but ROLLBACK.
   */
  async answered<Result>(work: Promise<Result>): Promise<Result> {
    const limitMs = this.#hasAnswered ? this.limitMs : this.firstByMs - performance.now();
    try {
      const result = await within(work, limitMs);
      if (result !== LATE) {
        this.#hasAnswered = true;
        return result;
      }
    } catch (error) {
      if (!isRefusal(error) || isInFailedTransaction(error)) this.#close();
      throw error;
    }
    this.#close();
    throw new Error(`the server did not answer within ${this.limitMs} ms`);
  }

  async release(): Promise<void> {
    await this.runner.release();
  }

  /** Not awaited: a connection whose other end is gone never says that it is closed. The pool drops it. */
  #close(): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    void this.client.end?.();
  }
}
