import type { Client, ClientBase, Pool } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DelayUnavailableError } from '../api/errors.js';
import { LATE, within } from '../tasks/signal.js';
import type { ConnectionConfig } from './connection-config.js';
import { isInFailedTransaction, isRefusal, isUnfitSession } from './driver-errors.js';
import type { Runner } from './runner.js';

/** The parts of TypeORM's Postgres driver that are used here; TypeORM types them `any`. */
export interface PostgresDriver {
  postgres: {
    Pool: new (config: ConnectionConfig) => Pool;
    Client: new (config: ConnectionConfig) => Client;
  };
  /** New after each `initialize()`, absent after `destroy()`; with `replication`, the master's. */
  master?: Pool & { options: ConnectionConfig };
  /** Those with a connection; `destroy()` releases each of them, until the list is empty. */
  connectedQueryRunners?: Pick<QueryRunner, 'release'>[];
}

export const driverOf = (dataSource: DataSource): PostgresDriver =>
  dataSource.driver as unknown as PostgresDriver;

/** The options of the application's own pool. */
export const poolOptionsOf = (dataSource: DataSource): ConnectionConfig =>
  driverOf(dataSource).master?.options ?? {};

/**
 * Guards the connections that a pool hands out, the application's or that of attempts, while the
 * library runs.
 *
 * A connection is handed out a few microseconds before TypeORM listens for its errors. If the
 * server ends the session right then (seen when its last answer and the end came in one packet), no
 * listener hears the `error` event, and Node would end the process. Other listeners still hear it.
 *
 * A session that refuses writes leaves the pool on its release. `pg` hands out first what was
 * released last, so after a failover the few sessions left on the old primary would refuse one
 * statement after the other, although the address is right again: for 104 s, where a proxy closes
 * no sessions.
 *
 * @returns a function that ends the guard; after the last one the connections are as they were
 */
export function watchPool(pool: Pool): () => void {
  const held = holds.get(pool) ?? new PoolHold(pool);
  holds.set(pool, held);
  return held.take();
}

/**
 * A connection to the same server does not answer, or refuses writes. The pool's connections opened
 * before that `performance.now()` leave it: idle ones now, others on their release.
 */
export function renewPool(pool: Pool, openedBeforeMs: number): void {
  holds.get(pool)?.renew(openedBeforeMs);
}

/** The server processes of the sessions that the pool has handed out. */
export const pidsOf = (pool: Pool): number[] => holds.get(pool)?.pids ?? [];

/** Whether that client's server has said that it takes no writes, or ends the session. */
export const unfitIn = (pool: Pool, client: ClientBase): boolean =>
  holds.get(pool)?.isUnfit(client) === true;

const holds = new WeakMap<Pool, PoolHold>();

const ignore = (): void => {};

type Told = Parameters<typeof isUnfitSession>[0];

/** An event of `pg` for each error of the server; `pg-native` does not have it. */
interface Errors {
  on(message: 'errorMessage', listener: (told: Told) => void): void;
  off(message: 'errorMessage', listener: (told: Told) => void): void;
}

class PoolHold {
  /** Each watched client, and what ends its watch. */
  readonly #clients = new Map<ClientBase, () => void>();
  readonly #unfit = new WeakSet<ClientBase>();
  readonly #openedAtMs = new WeakMap<ClientBase, number>();
  #openedBeforeMs = -Infinity;
  #holders = 0;

  constructor(private readonly pool: Pool) {}

  take(): () => void {
    if (this.#holders === 0) {
      this.pool.on('connect', this.#opened);
      this.pool.on('acquire', this.#acquired);
      this.pool.on('release', this.#released);
      this.pool.on('remove', this.#removed);
    }
    this.#holders += 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#letGo();
      isHeld = false;
    };
  }

  get pids(): number[] {
    const clients: Iterable<ClientBase & { processID?: number | null }> = this.#clients.keys();
    return [...clients].map(({ processID }) => processID ?? 0).filter((pid) => pid > 0);
  }

  isUnfit(client: ClientBase): boolean {
    return this.#unfit.has(client);
  }

  renew(openedBeforeMs: number): void {
    if (openedBeforeMs <= this.#openedBeforeMs) return;
    this.#openedBeforeMs = openedBeforeMs;
    for (let idle = this.pool.idleCount; idle > 0; idle -= 1) {
      this.pool.connect().then(
        (client) => client.release(),
        () => {},
      );
    }
  }

  #letGo(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.pool.off('connect', this.#opened);
    this.pool.off('acquire', this.#acquired);
    this.pool.off('release', this.#released);
    this.pool.off('remove', this.#removed);
    for (const unwatch of this.#clients.values()) unwatch();
    this.#clients.clear();
  }

  readonly #opened = (client: ClientBase): void => {
    this.#openedAtMs.set(client, performance.now());
  };

  readonly #acquired = (client: ClientBase): void => {
    if (this.#clients.has(client)) return;
    const { connection: errors } = client as { connection?: Errors };
    const heard = (told: Told): void => {
      if (isUnfitSession(told)) this.#unfit.add(client);
    };
    client.on('error', ignore);
    errors?.on('errorMessage', heard);
    this.#clients.set(client, () => {
      client.off('error', ignore);
      errors?.off('errorMessage', heard);
    });
  };

  /** Runs before the pool takes the client back; the pool drops one that is ending. */
  readonly #released = (_: unknown, client: ClientBase & { end?: () => Promise<void> }): void => {
    const isOld = (this.#openedAtMs.get(client) ?? -Infinity) < this.#openedBeforeMs;
    if (isOld || this.#unfit.has(client)) void client.end?.();
  };

  readonly #removed = (client: ClientBase): void => void this.#clients.delete(client);
}

const START_LOOK = `START TRANSACTION; SELECT pg_catalog.set_config('jit', 'off', true)`;

/** The part of the limit for getting a connection; the rest is for the first answer. */
const CONNECT_SHARE = 2 / 3;

/**
 * A connection of the application's pool, for statements outside of a caller's transaction. On a
 * connection that died silently a statement would wait for ever, and the pool would be one
 * connection short. So it is closed if it does not answer in time. The waits for the connection and
 * for its first answer share one limit.
 */
export class BorrowedConnection implements Runner {
  /** @throws DelayUnavailableError when the pool has no connection in time; nothing is sent then */
  static async take(dataSource: DataSource, limitMs: number): Promise<BorrowedConnection> {
    const firstByMs = performance.now() + limitMs;
    const connectMs = Math.round(limitMs * CONNECT_SHARE);
    const runner = dataSource.createQueryRunner('master');
    const connecting = runner.connect() as Promise<ClientBase>;
    const client = await within(connecting, connectMs).catch((error: unknown) => {
      const why = error instanceof Error ? ` (${error.message})` : '';
      throw new DelayUnavailableError(`the application's pool had no connection${why}`, error);
    });
    if (client === LATE) {
      const giveBack = (): Promise<void> => runner.release();
      void connecting.then(giveBack, () => {});
      throw new DelayUnavailableError(
        `no connection of the application's pool came free within ${connectMs} ms`,
      );
    }
    return new BorrowedConnection(runner, client, limitMs, firstByMs);
  }

  #isSilent = false;
  #hasAnswered = false;
  #ending: Promise<unknown> | undefined;

  private constructor(
    readonly runner: QueryRunner,
    private readonly client: ClientBase & { end?: () => Promise<void> },
    private readonly limitMs: number,
    private readonly firstByMs: number,
  ) {}

  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.answered(this.runner.query(sql, parameters) as Promise<Row[]>);
  }

  /**
   * Runs a read whose compilation would take longer than the read: before it, `jit` is turned off
   * for a transaction of its own. Nothing else is set, because the plan and the time limits are the
   * application's.
   */
  async look<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    await this.answered(this.client.query(START_LOOK));
    try {
      return await this.query<Row>(sql, parameters);
    } finally {
      this.#ending = this.answered(this.client.query('COMMIT'));
    }
  }

  /**
   * Waits for an answer. After an error the connection is reused only if the server itself refused,
   * and not after 25P02: only ROLLBACK follows a failure here, so the pool had handed out the
   * connection in a failed transaction.
   */
  async answered<Result>(work: Promise<Result>): Promise<Result> {
    const limitMs = this.#hasAnswered ? this.limitMs : this.firstByMs - performance.now();
    try {
      const result = await within(work, limitMs);
      if (result !== LATE) {
        this.#hasAnswered = true;
        return result;
      }
    } catch (error) {
      if (!isRefusal(error) || isInFailedTransaction(error)) this.#close();
      throw error;
    }
    this.#close();
    throw new Error(`the server did not answer within ${this.limitMs} ms`);
  }

  /** After a look, the caller does not wait for its COMMIT, and only then is the connection free. */
  async release(): Promise<void> {
    if (this.#ending === undefined) return this.runner.release();
    const release = (): Promise<void> => this.runner.release();
    void this.#ending.then(release, release).catch(() => {});
  }

  /** Not awaited: a connection whose other end is gone never reports its close. */
  #close(): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    void this.client.end?.();
  }
}
