import pg, { type Pool, type PoolClient } from 'pg';
import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { ConnectionConfig } from './connection-config.js';
import type { PostgresDriver } from './postgres-driver.js';

/** Where the database is: a connection string, or options of a pool of `pg`. */
export type Connection = string | object;

/**
 * A pool of `pg` in the form of a DataSource of TypeORM, as far as the library uses one, for
 * applications without TypeORM. Its query runners tell subscribers what TypeORM's tell them.
 */
export class PgDataSource {
  static from(connection: Connection): DataSource {
    const config = typeof connection === 'string' ? { connectionString: connection } : connection;
    return new PgDataSource(config) as unknown as DataSource;
  }

  readonly options = { type: 'postgres' } as const;
  readonly subscribers: EntitySubscriberInterface[] = [];
  readonly logger = { logQuery: (): void => {} };
  readonly driver: Omit<PostgresDriver, 'master'> & { master?: Pool } = {
    postgres: pg as unknown as PostgresDriver['postgres'],
  };
  isInitialized = false;
  /** Runners that have borrowed a connection. */
  readonly connected = new Set<PgQueryRunner>();

  private constructor(private readonly config: ConnectionConfig) {}

  /** @throws what `pg` says when it gets no connection */
  async initialize(): Promise<this> {
    const pool = new this.driver.postgres.Pool(this.config);
    // One that dies while idle is reported here; the pool has dropped it.
    pool.on('error', () => {});
    try {
      (await pool.connect()).release();
    } catch (error) {
      await pool.end();
      throw error;
    }
    this.driver.master = pool;
    this.isInitialized = true;
    return this;
  }

  async destroy(): Promise<void> {
    const pool = this.driver.master;
    delete this.driver.master;
    this.isInitialized = false;
    // Each gives its connection to one that waits for it, until none does.
    for (const runner of this.connected) await runner.release();
    await pool?.end();
  }

  /** Nest calls it: the engine has stopped in an earlier hook. */
  onApplicationShutdown(): Promise<void> {
    return this.destroy();
  }

  get manager(): EntityManager {
    return new PgManager(this, undefined) as unknown as EntityManager;
  }

  createQueryRunner(): QueryRunner {
    return new PgQueryRunner(this) as unknown as QueryRunner;
  }

  query(sql: string, parameters?: unknown[]): Promise<unknown> {
    return this.#lend((runner) => runner.query(sql, parameters));
  }

  transaction<Result>(
    ...given: [level: string, work: Work<Result>] | [work: Work<Result>]
  ): Promise<Result> {
    const [level, work] = given.length === 2 ? given : [undefined, given[0]];
    return this.#lend((runner) => inTransaction(runner, work, level));
  }

  async #lend<Result>(work: (runner: PgQueryRunner) => Promise<Result>): Promise<Result> {
    const runner = new PgQueryRunner(this);
    try {
      return await work(runner);
    } finally {
      await runner.release();
    }
  }
}

/** A DataSource of TypeORM is the application's to close. */
export async function closeIfOurs(dataSource: DataSource): Promise<void> {
  if ((dataSource as unknown) instanceof PgDataSource) await dataSource.destroy();
}

/** Runs `work` on a connection that is closed behind it. */
export async function withRunner<Result>(
  connection: Connection,
  work: (runner: QueryRunner) => Promise<Result>,
): Promise<Result> {
  const dataSource = await PgDataSource.from(connection).initialize();
  const runner = dataSource.createQueryRunner();
  try {
    return await work(runner);
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

type Work<Result> = (manager: EntityManager) => Promise<Result>;

class PgManager {
  /** TypeORM's own mark, by which the library knows one. */
  readonly '@instanceof' = Symbol.for('EntityManager');

  constructor(
    readonly dataSource: PgDataSource,
    readonly queryRunner: PgQueryRunner | undefined,
  ) {}

  query(sql: string, parameters?: unknown[]): Promise<unknown> {
    return (this.queryRunner ?? this.dataSource).query(sql, parameters);
  }

  /** Of a transaction: a savepoint in it. */
  transaction<Result>(work: Work<Result>): Promise<Result> {
    const { queryRunner: runner } = this;
    return runner === undefined ? this.dataSource.transaction(work) : inTransaction(runner, work);
  }
}

async function inTransaction<Result>(
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

class PgQueryRunner {
  readonly manager: PgManager;
  readonly data = {};
  isReleased = false;
  isTransactionActive = false;
  protected transactionDepth = 0;
  protected databaseConnection: PoolClient | undefined;
  #connecting: Promise<PoolClient> | undefined;

  constructor(readonly dataSource: PgDataSource) {
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
