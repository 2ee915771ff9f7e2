import pg, { type Pool } from 'pg';
import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import type { ConnectionConfig } from './connection-config.js';
import { inTransaction, PgManager, PgQueryRunner, type Work } from './pg-query-runner.js';
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
