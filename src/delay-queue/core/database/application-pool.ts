import type { ClientBase, Pool } from 'pg';
import { isUnfitSession } from './driver-errors.js';

/**
 * Guards the connections that a pool hands out, the application's or that of attempts, while the
 * library runs.
 *
 * A connection is handed out a few microseconds before TypeORM listens for its errors. If the
 * server ends the session right then, no listener hears the `error` event, and Node would end the
 * process.
 *
 * A session that refuses writes leaves the pool on its release. `pg` hands out first what was
 * released last, so after a failover the few sessions left on the old primary would refuse one
 * statement after the other: for 104 s, where a proxy closes no sessions.
 *
 * @returns a function that ends the guard
 */
export function watchPool(pool: Pool): () => void {
  const held = holds.get(pool) ?? new PoolHold(pool);
  holds.set(pool, held);
  return held.take();
}

/**
 * A connection to the same server does not answer, or refuses writes: those opened before that
 * `performance.now()` leave the pool, idle ones now, others on their release.
 */
export function renewPool(pool: Pool, openedBeforeMs: number): void {
  holds.get(pool)?.renew(openedBeforeMs);
}

/** The server processes of the sessions that the pool has handed out. */
export const heldPids = (pool: Pool): number[] => holds.get(pool)?.pids ?? [];

/** Whether that client's server has said that it takes no writes, or ends the session. */
export const unfitIn = (pool: Pool, client: ClientBase): boolean =>
  holds.get(pool)?.isUnfit(client) === true;

const holds = new WeakMap<Pool, PoolHold>();

const ignore = (): void => {};

type ToldError = Parameters<typeof isUnfitSession>[0];

/** An event of `pg` for each error of the server; `pg-native` does not have it. */
interface Errors {
  on(message: 'errorMessage', listener: (told: ToldError) => void): void;
  off(message: 'errorMessage', listener: (told: ToldError) => void): void;
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
    const heard = (told: ToldError): void => {
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
