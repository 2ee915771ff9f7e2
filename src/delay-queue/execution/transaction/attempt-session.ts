import type { PoolClient, QueryResult } from 'pg';
import type { DataSourceOptions, QueryRunner } from 'typeorm';
import type { EngineConnections } from '../../database/engine-connections.js';
import { endSessionSql } from '../../store/sql/attempts/fence.sql.js';
import { DelayRolledBackError } from '../../delay/delay.errors.js';
import { isInFailedTransaction } from '../../store/sql-state.js';
import type { Runner, SessionRunner } from '../../store/wire/runner.js';
import { clientSending } from './client-with.js';
import { committed } from './server-answers.js';
import type { TransactionGuard } from './transaction-guard.js';

/** What ends a session that does not answer is sent over a connection of its own. */
export type SessionsEngine = Runner & Pick<EngineConnections, 'on'>;

const START = 'START TRANSACTION';
const COMMIT = 'COMMIT';

/** A session as the server knows it: the process, its transaction, and when that began. */
export interface ServerSession {
  pid: number;
  began: string;
  transaction: string;
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
  get statements(): SessionRunner {
    return this.engine.on(this.client);
  }

  /**
   * Begins the transaction, with what the engine sends first: in one round trip, unless the transaction names
   * its level, which it has to do before all else.
   *
   * @param first sends one statement, or none
   */
  async begin<Answer>(
    level: DataSourceOptions['isolationLevel'],
    first: (runner: Runner) => Promise<Answer>,
  ): Promise<Answer> {
    if (level !== undefined) {
      await this.runner.startTransaction(level);
      return await first(this.statements);
    }
    let answered: { with: Answer } | undefined;
    const { client, statements, runner } = this;
    const start = async (): Promise<QueryResult> => {
      let started: QueryResult | undefined;
      const answer = await first({
        query: async <Row>(sql: string, parameters: unknown[]) => {
          const { other, rows } = await statements.queryBehind<Row>(START, sql, parameters);
          started = other;
          return rows;
        },
      });
      answered = { with: answer };
      return started ?? (await client.query(START));
    };
    const connect = runner.connect.bind(runner);
    const connected = Promise.resolve(clientSending(client, START, start));
    // Through TypeORM, whose subscribers hear of it.
    runner.connect = () => connected;
    try {
      await runner.startTransaction();
    } finally {
      runner.connect = connect;
    }
    return answered === undefined ? await first(statements) : answered.with;
  }

  /**
   * Sends COMMIT, with the last statement if the engine's work allows it.
   *
   * @param work what the engine does before
   * @param committing is called when COMMIT is about to be sent
   * @throws DelayRolledBackError
   */
  async commit(
    work: (runner: Runner) => Promise<void>,
    committing: () => void,
  ): Promise<QueryResult> {
    const { client, statements } = this;
    let answer: QueryResult | undefined;
    const runner: Runner = {
      query: (sql, parameters) => statements.query(sql, parameters),
      queryLast: async <Row>(sql: string, parameters: unknown[]) => {
        const { rows, other } = await statements.queryBefore<Row>(
          COMMIT,
          sql,
          parameters,
          committing,
        );
        answer = other;
        return rows;
      },
    };
    try {
      await work(runner);
      if (answer === undefined) committing();
      return committed(answer ?? (await client.query(COMMIT)));
    } catch (error) {
      throw isInFailedTransaction(error) ? new DelayRolledBackError() : error;
    }
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
