import type { DataSource } from 'typeorm';
import type { Client, ClientBase, Pool, PoolConfig } from 'pg';
import type { Runner } from '../store/rows.js';
import { PreparedStatements } from './prepared-statements.js';

/** The parts of TypeORM's Postgres driver that are used here; it types them `any`. */
interface PostgresDriver {
  postgres: { Pool: new (config: PoolConfig) => Pool; Client: new (config: PoolConfig) => Client };
  master: Pool & { options: PoolConfig };
}

/** A statement of the engine takes milliseconds; one that hangs is a half-open connection. */
const QUERY_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * A few connections of the engine's own, made from the DataSource's options, so that claims,
 * acknowledgements and renewals go on when the application has taken its whole pool.
 */
export class EngineConnections implements Runner {
  readonly #driver: PostgresDriver;
  readonly #pool: Pool;
  readonly #config: PoolConfig;
  readonly #prepared = new PreparedStatements();

  constructor(dataSource: DataSource, max: number, applicationName: string) {
    this.#driver = dataSource.driver as unknown as PostgresDriver;
    this.#config = {
      ...this.#driver.master.options,
      application_name: applicationName,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // A default `pg` client waits for ever on a connection that died silently.
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
    };
    this.#pool = new this.#driver.postgres.Pool({
      ...this.#config,
      max,
      min: 0,
      idleTimeoutMillis: 60_000,
    });
    // A connection that dies while idle says so here; the pool has replaced it already, and the
    // next statement speaks for itself.
    this.#pool.on('error', () => {});
    // One that dies between two statements of its user has nobody else to tell.
    this.#pool.on('connect', outliveErrors);
    this.#driver.master.on('acquire', outliveErrors);
  }

  /** The size of the application's own pool: what transactional handlers run on. */
  get applicationPoolMax(): number {
    return this.#driver.master.options.max ?? 10;
  }

  /** Sessions have proven to be this process's own for as long as their connections last. */
  prepareStatements(): void {
    this.#prepared.use();
  }

  /** Runs one statement; a connection on which one failed is not used again. */
  async query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const client = await this.#pool.connect();
    try {
      const rows = await this.#prepared.run<Row>(client, sql, parameters);
      client.release();
      return rows;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** A connection outside the pool, for LISTEN; the caller ends it. */
  dedicated(): Client {
    return new this.#driver.postgres.Client(this.#config);
  }

  async close(): Promise<void> {
    this.#driver.master.off('acquire', outliveErrors);
    if (!this.#pool.ending) await this.#pool.end();
  }
}

/**
 * A few microtasks lie between the pool's handing out a connection and TypeORM's listening to it. A
 * session that the server ends right then (seen when its last answer and the end came in one packet)
 * would end the process: an `error` event that nobody hears. Who listens still hears it.
 */
function outliveErrors(client: ClientBase): void {
  if (guarded.has(client)) return;
  guarded.add(client);
  client.on('error', () => {});
}

const guarded = new WeakSet<ClientBase>();
