import type { Client, ClientBase } from 'pg';
import type { DataSource } from 'typeorm';
import { inOwnScope } from '../tasks/own-scope.js';
import { heldPids, renewPool, watchPool } from './application-pool.js';
import { postgresDriver, givenPoolOptions, type PostgresDriver } from './postgres-driver.js';
import {
  bring,
  callersConfig,
  callersSettings,
  type ConnectionConfig,
  engineConfig,
  engineSettings,
  IDLE_MS,
  QUERY_TIMEOUT_MS,
  effectiveQueryTimeoutMs,
} from './connection-config.js';
import { AttemptPool } from './attempt-pool.js';
import { OwnPool } from './own-pool.js';
import { adviceOfPgpool } from './pgpool.js';
import { PreparedStatements } from './prepared-statements.js';
import type { Runner, SessionRunner } from './runner.js';

const SETTINGS = engineSettings(QUERY_TIMEOUT_MS);

/** The default of `pg`, where the application sets no size. */
const POOL_MAX = 10;

/**
 * The engine's own few connections, made from the DataSource's options, so that claims, completions
 * and renewals go on when the application has taken its whole pool.
 */
export class EngineConnections implements Runner {
  /** For transactional attempts. */
  readonly attempts: AttemptPool;
  readonly #driver: PostgresDriver;
  readonly #config: ConnectionConfig;
  readonly #prepared = new PreparedStatements(SETTINGS);
  readonly #preparedByKey: PreparedStatements;
  readonly #preparedForAttempts = new PreparedStatements();
  readonly #engines: OwnPool;
  readonly #callers: OwnPool;
  #watched: PostgresDriver['master'];
  #unwatch: (() => void) | undefined;
  /** Opened before it was requested. */
  #early: { client: Client; opened: Promise<void> } | undefined;

  /**
   * @param attempts how many sessions (default: as the application's pool), and how long their
   * transactions may idle
   */
  constructor(
    dataSource: DataSource,
    max: number,
    applicationName: string,
    attempts: { max: number | undefined; idleMs: number },
  ) {
    this.#driver = postgresDriver(dataSource);
    const options = givenPoolOptions(dataSource);
    this.#config = engineConfig(options, applicationName);
    this.#engines = this.#pool(this.#config, max, this.#prepared);
    this.#preparedByKey = new PreparedStatements(callersSettings(effectiveQueryTimeoutMs(options)));
    this.#callers = this.#pool(callersConfig(options), max, this.#preparedByKey);
    const attemptsMax = attempts.max ?? options.max ?? POOL_MAX;
    this.attempts = new AttemptPool(this.#driver, options, attemptsMax, attempts.idleMs);
    this.#watchPool();
  }

  /** How many of its connections run statements, and how many wait for some. */
  get figures(): { used: number; idle: number } {
    const all = [this.#engines, this.#callers, this.attempts].map(({ figures }) => figures);
    return {
      used: all.reduce((sum, { used }) => sum + used, 0),
      idle: all.reduce((sum, { idle }) => sum + idle, 0),
    };
  }

  /** The server processes on which handlers run: in their transactions, or on the application's pool. */
  get handlersPids(): number[] {
    const { master } = this.#driver;
    return [...(master === undefined ? [] : heldPids(master)), ...this.attempts.pids];
  }

  /**
   * For callers' writes outside of transactions. Undefined while statements cannot be prepared: the
   * application's pool is then as good.
   */
  get callers(): Pick<OwnPool, 'tryQuery'> | undefined {
    return this.#preparedByKey.isOn && !this.#callers.isClosing ? this.#callers : undefined;
  }

  /** To be called once each session has proven to stay with its connection. */
  prepareStatements(): void {
    this.#prepared.use();
    this.#preparedByKey.use();
    this.#preparedForAttempts.use();
    this.attempts.areOwn = true;
  }

  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    this.#watchPool();
    return inOwnScope(() => this.#engines.query<Row>(sql, parameters));
  }

  inTransaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> {
    this.#watchPool();
    return this.#engines.inTransaction(work);
  }

  /** Runs the engine's statements on the session of an attempt. */
  on(client: ClientBase): SessionRunner {
    const prepared = this.#preparedForAttempts;
    return {
      query: (sql, parameters) => prepared.run(client, sql, parameters),
      queryBefore: (...all) => prepared.runBefore(client, ...all),
    };
  }

  /**
   * One connection does not answer, or refuses writes. Where a proxy closes no sessions, so do all
   * to that server, also in the application's pool: each would be found out alone, 15 s after the
   * other. `openedBeforeMs` is a `performance.now()`.
   */
  renew(openedBeforeMs: number): void {
    for (const pool of [this.#engines, this.#callers, this.attempts]) pool.renew(openedBeforeMs);
    if (this.#watched !== undefined) renewPool(this.#watched, openedBeforeMs);
  }

  /**
   * Opens the next dedicated connection beside the pool's first: password proofs take a while.
   * @returns advice about what stands between it and its server
   */
  openEarly(): Promise<string | undefined> {
    const client = this.#dedicated();
    client.on('error', () => {});
    const opened = this.#open(client);
    const advice = opened.then(() => adviceOfPgpool(client)).catch(() => undefined);
    const asked = advice.then(() => opened);
    // `open` passes the error on. A start that fails earlier never calls it.
    asked.catch(() => {});
    this.#early = { client, opened: asked };
    return advice;
  }

  /** A connection outside the pool, for LISTEN, not yet open; the caller ends it. */
  dedicated(): Client {
    return this.#early?.client ?? this.#dedicated();
  }

  /** Connects a dedicated connection, as a pool would. */
  open(client: Client): Promise<void> {
    const early = this.#early;
    if (early?.client !== client) return this.#open(client);
    this.#early = undefined;
    return early.opened;
  }

  /** To be called once the session of a dedicated connection is known to belong to this process. */
  applySettings(client: Client): Promise<void> {
    return bring(client, SETTINGS, 'session ends');
  }

  async close(): Promise<void> {
    this.#unwatch?.();
    void this.#early?.client.end().catch(() => {});
    await Promise.all([this.attempts.close(), this.#callers.close(), this.#engines.close()]);
  }

  #dedicated(): Client {
    const { Client = this.#driver.postgres.Client } = this.#config;
    return new Client(this.#config);
  }

  async #open(client: Client): Promise<void> {
    await client.connect();
    await this.#config.onConnect?.(client);
  }

  /** `destroy()` and `initialize()` make a new application pool; the engine's pools stay. */
  #watchPool(): void {
    const { master } = this.#driver;
    if (master === this.#watched) return;
    this.#unwatch?.();
    this.#watched = master;
    this.#unwatch = master && watchPool(master);
  }

  #pool(config: ConnectionConfig, max: number, prepared: PreparedStatements): OwnPool {
    const pool = new this.#driver.postgres.Pool({
      ...config,
      max,
      min: 0,
      idleTimeoutMillis: IDLE_MS,
    });
    // A connection that dies while idle is reported here. The pool has dropped it, and the next
    // statement reports its own result.
    pool.on('error', () => {});
    // A connection that dies between two statements is reported only here.
    pool.on('connect', (client) => client.on('error', () => {}));
    return new OwnPool(pool, prepared, (openedBeforeMs) => this.renew(openedBeforeMs));
  }
}
