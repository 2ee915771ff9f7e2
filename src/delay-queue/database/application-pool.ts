import type { Client, ClientBase, Pool } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DelayUnavailableError } from '../api/errors.js';
import { LATE, within } from '../tasks/signal.js';
import type { ConnectionConfig } from './connection-config.js';
import { isInFailedTransaction, isRefusal, isUnfitSession } from './driver-errors.js';
import type { Runner } from './runner.js';

/** The parts of TypeORM's Postgres driver that are used here; it types them `any`. */
export interface PostgresDriver {
  postgres: {
    Pool: new (config: ConnectionConfig) => Pool;
    Client: new (config: ConnectionConfig) => Client;
  };
  /** A new one after each `initialize()`, none after `destroy()`; with `replication`, that of the master. */
  master?: Pool & { options: ConnectionConfig };
  /** Those that have a connection: `destroy()` releases each of them, until the list is empty. */
  connectedQueryRunners?: Pick<QueryRunner, 'release'>[];
}

export const driverOf = (dataSource: DataSource): PostgresDriver =>
  dataSource.driver as unknown as PostgresDriver;

/** What the application's own pool was made from. */
export const poolOptionsOf = (dataSource: DataSource): ConnectionConfig =>
  driverOf(dataSource).master?.options ?? {};

/**
 * Looks after the connections that the application's pool hands out, as long as the library is there.
 *
 * A connection is handed out a few microtasks before TypeORM listens to its errors. If the server ends the
 * session right then (seen when its last answer and the end came in one packet), no listener hears the `error` event,
 * and Node would end the process. Other listeners still hear the event.
 *
 * A session that takes no writes leaves the pool when it is given back. `pg` hands out what was returned last, so
 * after a failover the few sessions that were left on the old primary would refuse one statement after the other, although
 * the address is right again: for 104 s, where a proxy closes no sessions.
 *
 * @returns what ends that; with the last of those who share the pool its connections are as they were
 */
export function watchPool(pool: Pool): () => void {
  const held = holds.get(pool) ?? new PoolHold(pool);
  holds.set(pool, held);
  return held.take();
}

/**
 * A connection to the same server answers no more, or takes no writes: those of the pool that were opened before that instant may be
 * like that, and leave it, the idle ones now and all others when they are given back.
 *
 * @param openedBeforeMs `performance.now()`
 */
export function renewPool(pool: Pool, openedBeforeMs: number): void {
  holds.get(pool)?.renew(openedBeforeMs);
}

const holds = new WeakMap<Pool, PoolHold>();

const ignore = (): void => {};

/** Of `pg`, which tells each error of the server by that; `pg-native` has no such thing. */
interface Errors {
  on(message: 'errorMessage', listener: (told: { code?: string }) => void): void;
  off(message: 'errorMessage', listener: (told: { code?: string }) => void): void;
}

class PoolHold {
  /** With what ends the watch over each. */
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
    const heard = ({ code }: { code?: string }): void => {
      if (isUnfitSession(code)) this.#unfit.add(client);
    };
    client.on('error', ignore);
    errors?.on('errorMessage', heard);
    this.#clients.set(client, () => {
      client.off('error', ignore);
      errors?.off('errorMessage', heard);
    });
  };

  /** Told before the pool looks at what it got back, and one that is ending does not go back to the others. */
  readonly #released = (_: unknown, client: ClientBase & { end?: () => Promise<void> }): void => {
    const isOld = (this.#openedAtMs.get(client) ?? -Infinity) < this.#openedBeforeMs;
    if (isOld || this.#unfit.has(client)) void client.end?.();
  };

  readonly #removed = (client: ClientBase): void => void this.#clients.delete(client);
}

/** Of the limit: what a wait for a connection may take. The rest is for the first answer. */
const CONNECT_SHARE = 2 / 3;

/**
 * A connection of the application's pool, for statements outside of a caller's transaction. A statement on a
 * connection that died silently would wait for ever, and the pool would be one connection short. So a
 * connection that does not answer in time is closed, and the pool has its place back. The wait for it and for its first
 * answer share one limit.
 */
export class BorrowedConnection implements Runner {
  /** @throws DelayUnavailableError when the pool has no connection in time; nothing was sent then */
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

  private constructor(
    readonly runner: QueryRunner,
    private readonly client: ClientBase & { end?: () => Promise<void> },
    private readonly limitMs: number,
    private readonly firstByMs: number,
  ) {}

  /** One statement. */
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.answered(this.runner.query(sql, parameters) as Promise<Row[]>);
  }

  /**
   * Waits for an answer. After an error the connection is used again only if the server itself refused: not where it
   * was handed out in a transaction that had failed, for nothing here sends more behind a failure but ROLLBACK.
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

  async release(): Promise<void> {
    await this.runner.release();
  }

  /** Not awaited: a connection whose other end is gone never says that it is closed. The pool drops it. */
  #close(): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    void this.client.end?.();
  }
}
