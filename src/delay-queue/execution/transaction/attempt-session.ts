import type { PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';
import type { EngineConnections } from '../../database/engine-connections.js';
import { endSessionSql } from '../../store/sql/attempts/fence.sql.js';
import type { Runner } from '../../store/wire/runner.js';
import type { TransactionGuard } from './transaction-guard.js';

/** What ends a session that does not answer is sent over a connection of its own. */
export type SessionsEngine = Runner & Pick<EngineConnections, 'on'>;

/** A session as the server knows it: the process, and when its transaction began. */
export interface ServerSession {
  pid: number;
  began: string;
}

/** The session of the application's pool that a transactional call runs on, from connect to release. */
export class AttemptSession {
  /** Set as soon as there is one. */
  guard: TransactionGuard | undefined;
  /** Set as soon as the fence has told. */
  known: ServerSession | undefined;
  #client: PoolClient | undefined;
  #ending: Promise<void> | undefined;
  #isReleased = false;

  constructor(
    private readonly runner: QueryRunner,
    private readonly engine: SessionsEngine,
  ) {}

  async connect(): Promise<void> {
    this.#client = (await this.runner.connect()) as PoolClient;
  }

  /** @throws when it is not connected */
  get client(): PoolClient {
    if (this.#client === undefined) throw new Error('the session is not connected');
    return this.#client;
  }

  /** Past the handler's guard, and past TypeORM, which would send each text anew. */
  get statements(): Runner {
    return this.engine.on(this.client);
  }

  /** With the errors that the guard means, once there is one. */
  byEngine<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.guard ? this.guard.byEngine(work) : work();
  }

  /**
   * The attempt was cut: its session ends, so that its locks are free before the row is given to
   * another attempt. Not by a cancel request, which could hit whoever has the connection next.
   */
  cut(): void {
    this.guard?.seal();
    this.#ending = this.#end();
  }

  /** Not awaited: what is closed tells no more when nobody answers. The pool drops it. */
  close(): void {
    void this.#client?.end();
  }

  /** Not while its end is on the way, which would hit whoever gets the connection next. */
  async leave(): Promise<void> {
    await this.#ending;
    await this.#release();
  }

  /**
   * Then this side lets go too: on a connection that died silently the handler's statement, or the
   * ROLLBACK after it, would wait for ever, and the pool would be one connection short.
   */
  async #end(): Promise<void> {
    if (this.#client === undefined || this.#isReleased || this.runner.isReleased) return;
    try {
      if (this.known !== undefined) {
        await this.engine.query(endSessionSql(), [this.known.pid, this.known.began]);
      }
    } catch {
      // Then idle_in_transaction_session_timeout ends it.
    }
    this.close();
    // Now, since a handler that never returns would keep its place in the pool.
    await this.#release();
  }

  #release(): Promise<void> {
    this.#isReleased = true;
    return this.guard ? this.guard.release() : this.runner.release();
  }
}
