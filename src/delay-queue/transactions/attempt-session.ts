import type { PoolClient, QueryResult } from 'pg';
import type { DataSourceOptions, QueryRunner } from 'typeorm';
import { DelayRolledBackError } from '../api/errors.js';
import type { DelayEvents } from '../api/events.js';
import { driverOf } from '../database/application-pool.js';
import { isInFailedTransaction } from '../database/driver-errors.js';
import type { EngineConnections } from '../database/engine-connections.js';
import { given, type Runner, type SessionRunner } from '../database/runner.js';
import { dataSourceOf, SessionWatch } from '../database/session-watch.js';
import { endSessionSql, transactionNowSql } from '../store/sql/attempts.sql.js';
import { retryPauseMs, TaskHealth } from '../tasks/recurring-task.js';
import { TransactionEnds } from './commit-hooks.js';
import { clientSending, committed, isInTransaction, wasEnded } from './handlers-client.js';
import type { TransactionGuard } from './transaction-guard.js';

/** The engine's own connections, over which a session that does not answer is ended. */
export type SessionsEngine = Runner & Pick<EngineConnections, 'on' | 'applicationPids'>;

const START = 'START TRANSACTION';
const COMMIT = 'COMMIT';

/** A session as the server knows it: its process, its transaction, and when that began. */
interface ServerSession {
  pid: number;
  began: string;
  transaction: string;
}

/** State of the session's watch when the fence was answered. */
interface Fenced {
  watch: SessionWatch;
  transactions: number;
  rollbacks: number;
}

/** The pooled session that a transactional call runs on, from connect to release. */
export class AttemptSession {
  /** The application has closed its pool. */
  isTaken = false;
  #guard: TransactionGuard | undefined;
  #known: ServerSession | undefined;
  #fenced: Fenced | undefined;
  /** Replaces this runner in the driver's list of connected runners. */
  #standIn: Pick<QueryRunner, 'release'> | undefined;
  #client: PoolClient | undefined;
  #ending: Promise<void> | undefined;
  #isReleased = false;

  /** The application has replaced a method of its runners. */
  readonly #isWrapped: boolean;

  constructor(
    private readonly runner: QueryRunner,
    private readonly engine: SessionsEngine,
  ) {
    this.#isWrapped =
      Object.hasOwn(runner, 'startTransaction') || Object.hasOwn(runner, 'commitTransaction');
  }

  async connect(): Promise<void> {
    this.#client = (await this.runner.connect()) as PoolClient;
    SessionWatch.beginIfConnected(this.runner);
    this.#standInForRunner();
  }

  /** Call it when the fence is answered. */
  fenced(by: ServerSession): void {
    this.#known = by;
    const watch = SessionWatch.of(this.runner);
    const { transactions = 0, rollbacks = 0 } = watch ?? {};
    this.#fenced = watch && { watch, transactions, rollbacks };
  }

  /** Whether the server has reported the end of the fenced transaction. */
  get isEnded(): boolean {
    return (
      this.#fenced !== undefined && this.#fenced.watch.transactions !== this.#fenced.transactions
    );
  }

  get known(): ServerSession | undefined {
    return this.#known;
  }

  guardedBy(guard: TransactionGuard): void {
    this.#guard = guard;
  }

  /** @throws when not connected */
  get client(): PoolClient {
    if (this.#client === undefined) throw new Error('the session is not connected');
    return this.#client;
  }

  /** Bypasses the handler's guard, and TypeORM, which would send each text again. */
  get statements(): SessionRunner {
    return this.engine.on(this.client);
  }

  /**
   * Begins the transaction together with the engine's first statement, in one round trip. Not if
   * the transaction names an isolation level, which has to come first.
   * @param first sends one statement
   */
  async begin<Answer>(
    level: DataSourceOptions['isolationLevel'],
    first: (runner: Runner) => Promise<Answer>,
  ): Promise<Answer> {
    const { client, statements, runner } = this;
    if (level !== undefined) {
      await runner.startTransaction(level);
      return await first(statements);
    }
    let started: QueryResult | undefined;
    const behindStart: Runner = {
      query: <Row>(sql: string, parameters: unknown[]) =>
        statements.queryBehind<Row>(START, sql, parameters).then(({ other, rows }) => {
          started = other;
          return rows;
        }),
    };
    if (!this.#isHeard) {
      begins(runner);
      const answer = await first(behindStart);
      hasBegun(runner);
      return answer;
    }
    let answered: { with: Answer } | undefined;
    const start = async (): Promise<QueryResult> => {
      answered = { with: await first(behindStart) };
      return given(started);
    };
    const connect = runner.connect.bind(runner);
    const connected = Promise.resolve(clientSending(client, START, start));
    // Through TypeORM, which notifies the application's subscribers.
    runner.connect = () => connected;
    try {
      await runner.startTransaction();
    } finally {
      runner.connect = connect;
    }
    return answered === undefined ? await first(statements) : answered.with;
  }

  /**
   * Sends COMMIT, together with the engine's last statement if its work allows that.
   * @param work the engine's work before COMMIT
   * @param committing called just before COMMIT is sent
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
      queryLast: <Row>(sql: string, parameters: unknown[]) =>
        statements.queryBefore<Row>(COMMIT, sql, parameters, committing).then(({ rows, other }) => {
          answer = other;
          return rows;
        }),
    };
    try {
      if (this.#mayBeAnother) await this.#unlessAnother();
      await work(runner);
      if (answer === undefined) committing();
      return committed(answer ?? (await client.query(COMMIT)));
    } catch (error) {
      throw isInFailedTransaction(error) ? new DelayRolledBackError() : error;
    }
  }

  /** Whether the transaction must begin and end by TypeORM's methods, which others hear. */
  get #isHeard(): boolean {
    const dataSource = dataSourceOf(this.runner);
    if (dataSource === undefined || this.#isWrapped) return true;
    return TransactionEnds.of(dataSource).isAsked(this.runner);
  }

  byEngine<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#guard ? this.#guard.byEngine(work) : work();
  }

  /** Ends the transaction by a COMMIT that is this session's {@link commit}. */
  async commitBy(commit: () => Promise<QueryResult>): Promise<void> {
    const { runner } = this;
    if (this.#isHeard) {
      const byTypeOrm = (): Promise<void> => runner.commitTransaction();
      return this.#guard ? this.#guard.commitBy(byTypeOrm) : byTypeOrm();
    }
    logged(runner, COMMIT);
    await commit();
    hasEnded(runner);
  }

  /**
   * Ends the session of an attempt that was cut, so its locks are free before another attempt gets
   * the row. Not by a cancel request, which could hit the connection's next user.
   */
  cut(): void {
    this.#guard?.seal();
    this.#ending = this.#end();
  }

  /** Not awaited: if the other end is gone, no close event comes. The pool drops the connection. */
  close(): void {
    void this.#client?.end();
  }

  /** Waits for an end on its way, which would hit the connection's next user. */
  async leave(): Promise<void> {
    if (this.#ending !== undefined) await this.#ending;
    // A transaction that a subscriber began behind the end goes with the connection.
    if (this.#client !== undefined && isInTransaction(this.#client)) this.close();
    await this.#release();
  }

  /**
   * Ends the session on both sides. On a dead connection, the handler's statement or its ROLLBACK
   * would otherwise wait for ever, and the pool would be one connection short.
   */
  async #end(): Promise<void> {
    if (this.#client === undefined || this.#isReleased || this.runner.isReleased) return;
    await this.#terminate();
    this.close();
    // Now: a handler that never returns would keep its slot in the pool.
    await this.#release();
  }

  /** On the server, where a statement goes on and holds its locks although its client is gone. */
  async #terminate(): Promise<void> {
    try {
      if (this.known !== undefined) {
        await this.engine.query(endSessionSql(), [this.known.pid, this.known.began]);
      }
    } catch {
      // Then `idle_in_transaction_session_timeout` ends it.
    }
  }

  /** Something was rolled back since the fence, mostly to a savepoint. */
  get #mayBeAnother(): boolean {
    if (this.#fenced === undefined) return false;
    return this.isEnded || this.#fenced.watch.rollbacks !== this.#fenced.rollbacks;
  }

  /**
   * Refuses to commit another transaction: a text that ended the attempt's transaction and began
   * the next one released the rows.
   * @throws DelayInvalidError
   */
  async #unlessAnother(): Promise<void> {
    let isAnother = this.isEnded;
    if (!isAnother) {
      const [now] = await this.statements.query<{ transaction: string | null }>(
        transactionNowSql(),
        [],
      );
      isAnother = now?.transaction !== this.#known?.transaction;
    }
    if (isAnother) throw wasEnded();
  }

  /**
   * Replaces the runner in the driver's list: `destroy()` of the application releases all runners
   * there, and this one refuses, because a handler may not release it.
   */
  #standInForRunner(): void {
    const runners = this.#connectedRunners;
    const index = runners.indexOf(this.runner);
    if (index === -1) return;
    this.#standIn = { release: () => this.#taken() };
    runners[index] = this.#standIn;
  }

  /** The application closes its pool and waits for this connection. */
  async #taken(): Promise<void> {
    this.isTaken = true;
    this.#guard?.seal();
    // Awaited before the row is given back, not by the application.
    this.#ending = this.#terminate();
    this.close();
    await this.#release();
  }

  get #connectedRunners(): Pick<QueryRunner, 'release'>[] {
    const dataSource = dataSourceOf(this.runner);
    return (dataSource && driverOf(dataSource).connectedQueryRunners) ?? [];
  }

  async #release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const index = this.#standIn ? this.#connectedRunners.indexOf(this.#standIn) : -1;
    if (index !== -1) this.#connectedRunners.splice(index, 1);
    await (this.#guard ? this.#guard.release() : this.runner.release());
  }
}

/*
 * What TypeORM's methods do besides sending START TRANSACTION and COMMIT. Without a subscriber it is
 * done here, without their dozen promises each (docs/adr/0063).
 */

const logged = (runner: QueryRunner, sql: string): void =>
  dataSourceOf(runner)?.logger.logQuery(sql, undefined, runner);

function begins(runner: QueryRunner): void {
  Object.assign(runner, { isTransactionActive: true });
  logged(runner, START);
}

const hasBegun = (runner: QueryRunner): void => void Object.assign(runner, { transactionDepth: 1 });

const hasEnded = (runner: QueryRunner): void =>
  void Object.assign(runner, { isTransactionActive: false, transactionDepth: 0 });

/**
 * How long calls cool down while attempts cannot begin their transactions: longer after each
 * failure in a row. Otherwise due delays would be claimed and given back as fast as the database
 * refuses.
 */
export class BeginCoolDown {
  readonly #health: TaskHealth;
  #failures = 0;
  #restUntilMs = -Infinity;

  constructor(events: DelayEvents) {
    this.#health = new TaskHealth(events, 'begin');
  }

  worked(): void {
    this.#failures = 0;
    this.#restUntilMs = -Infinity;
    this.#health.worked();
  }

  /** Calls `wake` once, when another task works again. @returns a function that cancels that */
  whenAnotherWorks(wake: () => void): () => void {
    return this.#health.whenAnotherWorks(() => {
      this.#restUntilMs = -Infinity;
      wake();
    });
  }

  /**
   * Transactions that fail during a cool-down count as the same failure.
   * @param nowMs `performance.now()`
   * @returns how long the call cools down, in milliseconds
   */
  failed(error: unknown, nowMs: number): number {
    this.#health.failed(error);
    if (nowMs >= this.#restUntilMs) {
      this.#failures += 1;
      this.#restUntilMs = nowMs + retryPauseMs(this.#failures);
    }
    return this.#restUntilMs - nowMs;
  }
}
