import type { Pool, PoolClient } from 'pg';
import { DelayUnavailableError } from '../api/errors.js';
import { within } from '../tasks/signal.js';
import { heldPids, renewPool, unfitIn, watchPool } from './application-pool.js';
import { type PostgresDriver } from './postgres-driver.js';
import { attemptsConfig, type ConnectionConfig } from './connection-config.js';
import { given } from './runner.js';
import { ownSessionSql, sessionSql } from './sessions.sql.js';

/** Sessions that are not released so long after the pool began to close are left to their end. */
const CLOSE_WITHIN_MS = 5_000;

/** The server's process of a session, since when it runs, and since when its transaction does. */
interface ServerSession {
  pid: string;
  opened: string;
  /** Null where the session belongs to this process, whatever its transaction is. */
  began: string | null;
}

/**
 * The sessions of transactional attempts, with the options of the application's pool, opened on
 * demand and closed when idle. So an application whose pool is used up stops no handler, and
 * handlers take no connection from its requests.
 */
export class AttemptPool {
  /** Each session has proven to stay with its connection: no pooler lends it to others. */
  areOwn = false;
  private readonly pool: Pool;
  readonly #unwatch: () => void;
  readonly #sessions = new WeakMap<PoolClient, ServerSession>();

  /**
   * @param idleMs after so long idle in a transaction an own session ends: a paused process lets go
   * of its locks
   */
  constructor(
    { postgres }: PostgresDriver,
    options: ConnectionConfig,
    readonly max: number,
    readonly idleMs: number,
  ) {
    this.pool = new postgres.Pool(attemptsConfig(options, max));
    // One that dies while idle is reported here; the pool has dropped it.
    this.pool.on('error', () => {});
    this.#unwatch = watchPool(this.pool);
  }

  /** The server processes of the sessions that it has handed out. */
  get pids(): number[] {
    return heldPids(this.pool);
  }

  get figures(): { used: number; idle: number } {
    const { totalCount, idleCount } = this.pool;
    return { used: totalCount - idleCount, idle: idleCount };
  }

  /** @throws DelayUnavailableError; nothing was sent then */
  async connect(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (error) {
      const why = error instanceof Error ? ` (${error.message})` : '';
      throw new DelayUnavailableError(`no session for an attempt could be opened${why}`, error);
    }
  }

  /** To be called before the first statement of an own session, or behind the BEGIN of another. */
  async identify(client: PoolClient): Promise<void> {
    const isKnown = this.#sessions.get(client)?.began === null;
    if (this.areOwn && isKnown) return;
    const { rows } = this.areOwn
      ? await client.query<ServerSession>(ownSessionSql(), [this.idleMs])
      : await client.query<ServerSession>(sessionSql());
    const session = given(rows[0]);
    this.#sessions.set(client, this.areOwn ? { ...session, began: null } : session);
  }

  sessionOf(client: PoolClient): ServerSession | undefined {
    return this.#sessions.get(client);
  }

  pidOf(client: PoolClient): number | undefined {
    const session = this.#sessions.get(client);
    return session && Number(session.pid);
  }

  /** Whether its server has said that it takes no writes, or ends the session. */
  isUnfit(client: PoolClient): boolean {
    return unfitIn(this.pool, client);
  }

  /** No longer uses connections opened before that instant of `performance.now()`. */
  renew(openedBeforeMs: number): void {
    renewPool(this.pool, openedBeforeMs);
  }

  /** A handler that never returns does not keep the process from ending. */
  async close(): Promise<void> {
    await within(this.pool.end(), CLOSE_WITHIN_MS, { ref: false });
    this.#unwatch();
  }
}
