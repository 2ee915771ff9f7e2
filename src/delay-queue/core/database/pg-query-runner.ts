import type { Pool, PoolClient } from 'pg';
import type { EntityManager, EntitySubscriberInterface } from 'typeorm';

/** A query runner of TypeORM, as far as the library uses one, on a pool of `pg`. */
export class PgQueryRunner {
  readonly manager: PgManager;
  readonly data = {};
  isReleased = false;
  isTransactionActive = false;
  protected transactionDepth = 0;
  protected databaseConnection: PoolClient | undefined;
  #connecting: Promise<PoolClient> | undefined;

  constructor(readonly dataSource: PgSource) {
    this.manager = new PgManager(dataSource, this);
  }

  async connect(): Promise<PoolClient> {
    if (this.databaseConnection !== undefined) return this.databaseConnection;
    const pool = this.dataSource.driver.master;
    if (pool === undefined) throw new Error('the pool of connections is closed');
    this.#connecting ??= pool.connect();
    this.databaseConnection = await this.#connecting;
    this.dataSource.connected.add(this);
    return this.databaseConnection;
  }

  async query(sql: string, parameters?: unknown[]): Promise<unknown> {
    if (this.isReleased) throw new Error('the connection was given back');
    const client = await this.connect();
    const event = { queryRunner: this, query: sql, parameters };
    // In the turn in which it is sent: a subscriber notes the order.
    const told = this.#tell('beforeQuery', event);
    if (told !== undefined) await told;
    let success = false;
    try {
      const { rows } = await client.query(sql, parameters);
      success = true;
      return rows;
    } finally {
      await this.#tell('afterQuery', { ...event, success });
    }
  }

  stream(): never {
    throw new Error('use the client of the attempt, ctx.client');
  }

  async startTransaction(level?: string): Promise<void> {
    this.isTransactionActive = true;
    await this.#tell('beforeTransactionStart', { queryRunner: this });
    const begin = `START TRANSACTION${level === undefined ? '' : ` ISOLATION LEVEL ${level}`}`;
    try {
      await this.query(this.transactionDepth === 0 ? begin : `SAVEPOINT s${this.transactionDepth}`);
    } catch (error) {
      this.isTransactionActive = this.transactionDepth > 0;
      throw error;
    }
    this.transactionDepth += 1;
    await this.#tell('afterTransactionStart', { queryRunner: this });
  }

  async commitTransaction(): Promise<void> {
    await this.#tell('beforeTransactionCommit', { queryRunner: this });
    const { isOuter, savepoint } = this.#innermost;
    await this.query(isOuter ? 'COMMIT' : `RELEASE SAVEPOINT ${savepoint}`);
    this.#left();
    await this.#tell('afterTransactionCommit', { queryRunner: this });
  }

  async rollbackTransaction(): Promise<void> {
    await this.#tell('beforeTransactionRollback', { queryRunner: this });
    const { isOuter, savepoint } = this.#innermost;
    await this.query(isOuter ? 'ROLLBACK' : `ROLLBACK TO SAVEPOINT ${savepoint}`);
    this.#left();
    await this.#tell('afterTransactionRollback', { queryRunner: this });
  }

  async release(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    this.dataSource.connected.delete(this);
    // An attempt has given it a session, and takes that back itself.
    const client = await this.#connecting?.catch(() => undefined);
    this.databaseConnection = undefined;
    client?.release();
  }

  get #innermost(): { isOuter: boolean; savepoint: string } {
    if (!this.isTransactionActive) throw new Error('no transaction is open');
    const depth = this.transactionDepth - 1;
    return { isOuter: depth <= 0, savepoint: `s${depth}` };
  }

  #left(): void {
    this.transactionDepth = Math.max(0, this.transactionDepth - 1);
    this.isTransactionActive = this.transactionDepth > 0;
  }

  #tell(hook: keyof EntitySubscriberInterface, event: object): Promise<unknown> | undefined {
    const told = this.dataSource.subscribers
      .map((each): unknown => each[hook]?.(event as never))
      .filter((answer) => answer instanceof Promise);
    return told.length > 0 ? Promise.all(told) : undefined;
  }
}

export type Work<Result> = (manager: EntityManager) => Promise<Result>;

export class PgManager {
  /** TypeORM's own mark, by which the library knows one. */
  readonly '@instanceof' = Symbol.for('EntityManager');

  constructor(
    readonly dataSource: PgSource,
    readonly queryRunner: PgQueryRunner | undefined,
  ) {}

  query(sql: string, parameters?: unknown[]): Promise<unknown> {
    return (this.queryRunner ?? this.dataSource).query(sql, parameters);
  }

  /** Within a transaction, runs `work` in a savepoint. */
  transaction<Result>(work: Work<Result>): Promise<Result> {
    const { queryRunner: runner } = this;
    return runner === undefined ? this.dataSource.transaction(work) : inTransaction(runner, work);
  }
}

export async function inTransaction<Result>(
  runner: PgQueryRunner,
  work: Work<Result>,
  level?: string,
): Promise<Result> {
  await runner.startTransaction(level);
  try {
    const result = await work(runner.manager as unknown as EntityManager);
    await runner.commitTransaction();
    return result;
  } catch (error) {
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => {});
    throw error;
  }
}

/** What lends connections. */
interface PgSource {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
  transaction<Result>(work: Work<Result>): Promise<Result>;
  readonly subscribers: readonly EntitySubscriberInterface[];
  readonly driver: { master?: Pool };
  /** Runners that have borrowed a connection. */
  readonly connected: Set<PgQueryRunner>;
}
