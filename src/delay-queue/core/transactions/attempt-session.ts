import type { PoolClient, QueryResult } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DelayRolledBackError } from '../api/errors.js';
import { isInFailedTransaction } from '../database/driver-errors.js';
import type { EngineConnections } from '../database/engine-connections.js';
import type { Runner } from '../database/runner.js';
import { owningDataSource, SessionWatch } from '../database/session-watch.js';
import { endSessionSql, takesWritesSql } from '../database/sessions.sql.js';
import { TransactionEnds } from './commit-hooks.js';
import { BeginAhead } from './begin-ahead.js';
import { committed, isHandlersTransaction, wasEnded } from './handlers-client.js';
import { TransactionGuard } from './transaction-guard.js';

/** The sessions of attempts, and the connections over which one that does not answer is ended. */
export type SessionsEngine = Runner & Pick<EngineConnections, 'on' | 'attempts' | 'handlersPids'>;

/** Named in each transaction: a role, a database or the application may have set another one. */
const LEVEL = 'READ COMMITTED';
const START = `START TRANSACTION ISOLATION LEVEL ${LEVEL}`;
const COMMIT = 'COMMIT';

/** State of the session's watch when the transaction began. */
interface Began {
  watch: SessionWatch;
  transactions: number;
  rollbacks: number;
}

/**
 * The session of one transactional call, from its connection to its release. Its transaction begins
 * with the first statement of the handler, in one round trip, and ends with the engine's.
 */
export class AttemptSession {
  readonly guard: TransactionGuard;
  /** Undefined before the transaction, and where no connection is seen, as with `pg-native`. */
  #ahead: BeginAhead | undefined;
  #began: Began | undefined;
  #ending: Promise<void> | undefined;
  #isReleased = false;
  #isClosed = false;

  static async open(dataSource: DataSource, engine: SessionsEngine): Promise<AttemptSession> {
    const client = await engine.attempts.connect();
    const runner = dataSource.createQueryRunner('master');
    // TypeORM connects a runner to its own pool, unless it has a connection.
    Reflect.set(runner, 'databaseConnection', client);
    SessionWatch.beginIfConnected(runner);
    return new AttemptSession(runner, client, engine);
  }

  private constructor(
    readonly runner: QueryRunner,
    private readonly client: PoolClient,
    private readonly engine: SessionsEngine,
  ) {
    this.guard = new TransactionGuard(runner, client, () => this.isEnded);
  }

  get pid(): number | undefined {
    return this.engine.attempts.pidOf(this.client);
  }

  /** Whether the server has reported the end of the attempt's transaction. */
  get isEnded(): boolean {
    return this.#began !== undefined && this.#began.watch.transactions !== this.#began.transactions;
  }

  /**
   * Whether a failure is that of the session, and the next one may do better: it ended before its
   * transaction had begun, or its server takes no writes, as after a failover. To be asked after
   * {@link rollback}.
   */
  async isToBlame(): Promise<boolean> {
    // A handler had left something open on a session that worked: no answer is missed.
    if (this.#isClosed) return false;
    const isUnfit = this.engine.attempts.isUnfit(this.client);
    // The server's last word may have come before anything was sent.
    if (this.#ahead?.hasFailed || (isUnfit && this.#ahead?.isWaiting)) return true;
    if (!isUnfit) return false;
    try {
      const { rows } = await this.client.query<{ writes: string }>(takesWritesSql());
      return rows[0]?.writes === 'false';
    } catch {
      return false;
    }
  }

  /** Bypasses the handler's guard, and TypeORM, which would send each text again. */
  get #statements() {
    return this.engine.on(this.client);
  }

  /**
   * @param idleMs after so long without a statement the server ends the session: a process that is
   * paused inside the transaction lets go of its locks
   */
  async begin(idleMs: number): Promise<void> {
    const { runner, client, engine, guard } = this;
    const watch = SessionWatch.of(runner);
    const { areOwn } = engine.attempts;
    const isLimited = areOwn && idleMs === engine.attempts.idleMs;
    const limits = isLimited ? [] : [`SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`];
    if (areOwn) await engine.attempts.identify(client);
    const isHeard = this.#isHeard;
    if (isHeard) {
      await guard.byEngine(() => runner.startTransaction(LEVEL));
      for (const limit of limits) await client.query(limit);
    } else {
      logQuery(runner, START);
      Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
    }
    const goesAhead = areOwn && watch !== undefined && !isHeard;
    if (watch !== undefined) this.#ahead = BeginAhead.on(client);
    this.#ahead?.with(goesAhead ? [START, ...limits] : []);
    if (!goesAhead && !isHeard) await client.query([START, ...limits].join('; '));
    if (!areOwn) await engine.attempts.identify(client);
    watch?.begins();
    const { transactions = 0, rollbacks = 0 } = watch ?? {};
    this.#began = watch && { watch, transactions, rollbacks };
  }

  /**
   * Sends COMMIT, together with the engine's last statement if its work allows that.
   * @param committing called just before COMMIT is sent
   */
  async commit(work: (runner: Runner) => Promise<void>, committing: () => void): Promise<void> {
    const { runner } = this;
    const send = (): Promise<QueryResult> => this.#commit(work, committing);
    if (this.#isHeard) return this.guard.commitBy(() => runner.commitTransaction(), send);
    logQuery(runner, COMMIT);
    await send();
    Object.assign(runner, { isTransactionActive: false, transactionDepth: 0 });
  }

  async #commit(
    work: (runner: Runner) => Promise<void>,
    committing: () => void,
  ): Promise<QueryResult> {
    const { client } = this;
    const statements = this.#statements;
    let answer: QueryResult | undefined;
    const runner: Runner = {
      query: (sql, parameters) => statements.query(sql, parameters),
      queryLast: <Row>(sql: string, parameters: unknown[]) =>
        statements.queryBefore<Row>(COMMIT, sql, parameters, committing).then(({ rows, other }) => {
          answer = other;
          return rows;
        }),
    };
    try {
      // What begins a transaction goes ahead of a statement.
      if (this.#ahead?.isWaiting) await client.query('SELECT');
      this.#unlessAnother();
      await work(runner);
      if (answer === undefined) committing();
      return committed(answer ?? (await client.query(COMMIT)));
    } catch (error) {
      throw isInFailedTransaction(error) ? new DelayRolledBackError() : error;
    }
  }

  /**
   * Refuses to commit another transaction: a text may have ended that of the attempt and begun the next
   * one. The watch alone cannot tell that from a rollback to a savepoint.
   */
  #unlessAnother(): void {
    const hasRolledBack = this.#began?.watch.rollbacks !== this.#began?.rollbacks;
    if (this.isEnded || (hasRolledBack && this.#ahead?.rollsBack)) throw wasEnded();
  }

  /** Does nothing without a transaction, or where its session is gone and the transaction with it. */
  async rollback(): Promise<void> {
    const { runner, guard } = this;
    try {
      if (this.#ahead?.isWaiting) Object.assign(runner, { isTransactionActive: false });
      else if (runner.isTransactionActive) {
        await guard.byEngine(() => runner.rollbackTransaction());
      }
    } catch {
      // The server rolls back what a session leaves.
    }
  }

  /** Whether the transaction must begin and end by TypeORM's methods, which others hear. */
  get #isHeard(): boolean {
    const dataSource = owningDataSource(this.runner);
    if (dataSource === undefined || this.guard.isWrapped) return true;
    return TransactionEnds.of(dataSource).isAsked(this.runner);
  }

  /**
   * Ends the session of an attempt that was cut, so its locks are free before another attempt gets
   * the row. Not by a cancel request, which could hit the connection's next user.
   */
  cut(): void {
    this.guard.seal();
    this.#ending = this.#end();
  }

  /** Not awaited: if the other end is gone, no close event comes. The pool drops the connection. */
  close(): void {
    this.#isClosed ||= !this.isEnded;
    void (this.client as { end?: () => Promise<void> }).end?.();
  }

  /** Waits for an end on its way, which would hit the connection's next user. */
  async leave(): Promise<void> {
    if (this.#ending !== undefined) await this.#ending;
    // A transaction that a subscriber began behind the end goes with the connection.
    if (isHandlersTransaction(this.client)) this.close();
    await this.#release();
  }

  /**
   * Ends the session on both sides. On a dead connection, the handler's statement or its ROLLBACK
   * would otherwise never return, and the pool would be one connection short.
   */
  async #end(): Promise<void> {
    if (this.#isReleased) return;
    await this.#terminate();
    this.close();
    // Now: a handler that never returns would keep its slot in the pool.
    await this.#release();
  }

  /** On the server, where a statement goes on and holds its locks although its client is gone. */
  async #terminate(): Promise<void> {
    const known = this.engine.attempts.sessionOf(this.client);
    if (known === undefined) return;
    try {
      await this.engine.query(endSessionSql(), [known.pid, known.opened, known.began]);
    } catch {
      // Then `idle_in_transaction_session_timeout` ends it.
    }
  }

  async #release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    // The next user of the connection begins a transaction of its own, or none.
    this.#ahead?.with([]);
    await this.guard.release();
    this.client.release();
  }
}

/** What TypeORM's methods do besides sending START TRANSACTION and COMMIT (docs/adr/0069). */
const logQuery = (runner: QueryRunner, sql: string): void =>
  owningDataSource(runner)?.logger.logQuery(sql, undefined, runner);
