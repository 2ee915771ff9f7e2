import type { Client, ClientBase, Pool } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import type { ConnectionConfig } from './connection-config.js';

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
 * The pool hands out a connection a few microtasks before TypeORM listens to its errors. If the server ends the
 * session right then (seen when its last answer and the end came in one packet), no listener hears the `error` event,
 * and Node would end the process. Other listeners still hear the event.
 *
 * @returns what ends that; with the last of those who share the pool its connections are as they were
 */
export function outliveErrors(pool: Pool): () => void {
  const held = holds.get(pool) ?? new PoolHold(pool);
  holds.set(pool, held);
  return held.take();
}

const holds = new WeakMap<Pool, PoolHold>();

const ignore = (): void => {};

class PoolHold {
  readonly #clients = new Set<ClientBase>();
  #holders = 0;

  constructor(private readonly pool: Pool) {}

  take(): () => void {
    if (this.#holders === 0) {
      this.pool.on('acquire', this.#acquired);
      this.pool.on('remove', this.#removed);
    }
    this.#holders += 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#letGo();
      isHeld = false;
    };
  }

  #letGo(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.pool.off('acquire', this.#acquired);
    this.pool.off('remove', this.#removed);
    for (const client of this.#clients) client.off('error', ignore);
    this.#clients.clear();
  }

  readonly #acquired = (client: ClientBase): void => {
    if (this.#clients.has(client)) return;
    this.#clients.add(client);
    client.on('error', ignore);
  };

  readonly #removed = (client: ClientBase): void => void this.#clients.delete(client);
}
