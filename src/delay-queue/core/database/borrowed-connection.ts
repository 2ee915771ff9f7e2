import type { ClientBase } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DelayUnavailableError } from '../api/errors.js';
import { within, LATE } from '../tasks/signal.js';
import { isRefusedByServer, isInFailedTransaction } from './driver-errors.js';
import type { Runner } from './runner.js';

const START_LOOK = `START TRANSACTION; SELECT pg_catalog.set_config('jit', 'off', true)`;

/** The part of the limit for getting a connection; the rest is for the first answer. */
const CONNECT_SHARE = 2 / 3;

/**
 * A connection of the application's pool, for statements outside of a caller's transaction. It is
 * closed if it does not answer in time: on one that died silently a statement would never return.
 * The waits for the connection and for its first answer share one limit.
 */
export class BorrowedConnection implements Runner {
  /** @throws DelayUnavailableError when the pool has no connection in time; nothing is sent then */
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
  #ending: Promise<unknown> | undefined;

  private constructor(
    readonly runner: QueryRunner,
    private readonly client: ClientBase & { end?: () => Promise<void> },
    private readonly limitMs: number,
    private readonly firstByMs: number,
  ) {}

  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.answered(this.runner.query(sql, parameters) as Promise<Row[]>);
  }

  /**
   * Runs a read whose compilation would take longer than the read: `jit` is off for a transaction
   * of its own. The plan and the time limits stay the application's.
   */
  async look<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    await this.answered(this.client.query(START_LOOK));
    try {
      return await this.query<Row>(sql, parameters);
    } finally {
      this.#ending = this.answered(this.client.query('COMMIT'));
    }
  }

  /**
   * Waits for an answer. After an error the connection is reused only if the server itself refused,
   * and not after 25P02: the pool had handed it out in a failed transaction.
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
      if (!isRefusedByServer(error) || isInFailedTransaction(error)) this.#close();
      throw error;
    }
    this.#close();
    throw new Error(`the server did not answer within ${this.limitMs} ms`);
  }

  /** A reader does not wait for its COMMIT, after which the connection is free. */
  async release(): Promise<void> {
    if (this.#ending === undefined) return this.runner.release();
    const release = (): Promise<void> => this.runner.release();
    void this.#ending.then(release, release).catch(() => {});
  }

  /** Not awaited: a connection whose other end is gone never reports its close. */
  #close(): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    void this.client.end?.();
  }
}
