import type { Pool, PoolClient } from 'pg';
import { DelayUnavailableError } from '../api/errors.js';
import { within } from '../tasks/signal.js';
import { isReadOnly, isUnanswered } from './driver-errors.js';
import type { PreparedStatements } from './prepared-statements.js';
import type { Runner } from './runner.js';
import { hangingSql } from './transaction-status.sql.js';

/** Statements that have no answer so long after the pool began to close are cut. */
const CLOSE_WITHIN_MS = 5_000;

/** A server that had no connection to give writes a line about it each time it is asked. */
const ASK_AGAIN_AFTER_MS = 10_000;

/**
 * Sessions that were given up while they waited for a synchronous replica. The server keeps each until that is back, whatever
 * becomes of its connection; ended by force, they would commit without it.
 */
const HANGING_MAX = 6;

/** May have a pool for callers' statements; undefined while there is none. */
export interface CallersPool {
  readonly callers: Pick<OwnPool, 'tryQuery'> | undefined;
}

/** A pool of the engine alone, one statement at a time on each of its connections. */
export class OwnPool implements Runner {
  readonly #queries = new Set<Promise<unknown>>();
  readonly #busy = new Set<PoolClient>();
  readonly #openedAtMs = new WeakMap<PoolClient, number>();
  /** The server's processes whose last statement was not answered. */
  #unanswered = new Set<number>();
  #openedBeforeMs = -Infinity;
  #asksAgainAtMs = -Infinity;
  #isClosing = false;

  /** @param onDead a connection does not answer, or takes no writes: so may all be that were opened before that instant */
  constructor(
    private readonly pool: Pool,
    private readonly prepared: PreparedStatements,
    private readonly onDead: (openedBeforeMs: number) => void,
  ) {
    pool.on('connect', (client) => this.#openedAtMs.set(client, performance.now()));
  }

  /** Connections that were opened before that instant of `performance.now()` are used no more. */
  renew(openedBeforeMs: number): void {
    this.#openedBeforeMs = Math.max(openedBeforeMs, this.#openedBeforeMs);
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Runs one statement; a connection on which one failed is not used again. */
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.#noted(async () => this.#run<Row>(await this.#connect(), sql, parameters));
  }

  /** Runs several statements in one transaction; a connection on which one failed is not used again. */
  inTransaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> {
    return this.#noted(async () => {
      const client = await this.#connect();
      const result = await this.#use(client, async () => {
        const query = <Row>(sql: string, parameters: unknown[]): Promise<Row[]> =>
          this.prepared.run<Row>(client, sql, parameters);
        await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
        const answer = await work({ query, transaction: 'ours' });
        await client.query('COMMIT');
        return answer;
      });
      client.release();
      return result;
    });
  }

  /** The same, but undefined when no connection can be had: the caller then uses another pool. */
  async tryQuery<Row>(sql: string, parameters: unknown[]): Promise<Row[] | undefined> {
    if (performance.now() < this.#asksAgainAtMs) return undefined;
    return this.#noted(async () => {
      const client = await this.#connect().catch((error: unknown) => {
        // On another pool it would hang as well.
        if (error instanceof DelayUnavailableError) throw error;
        return undefined;
      });
      if (client !== undefined) return this.#run<Row>(client, sql, parameters);
      this.#asksAgainAtMs = performance.now() + ASK_AGAIN_AFTER_MS;
      return undefined;
    });
  }

  /** Ends when all statements have their answers: a pool that ends forgets who waits for it. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await within(Promise.allSettled(this.#queries), CLOSE_WITHIN_MS, { ref: false });
    for (const client of this.#busy) void client.end();
    await this.pool.end();
  }

  #noted<Result>(work: () => Promise<Result>): Promise<Result> {
    const query = work();
    this.#queries.add(query);
    return query.finally(() => this.#queries.delete(query));
  }

  /** While this runs, nothing of the statement has been sent. */
  async #connect(): Promise<PoolClient> {
    const client = await this.#fresh();
    await this.#use(client, async () => {
      await this.prepared.applySettings(client);
      await this.#unlessHanging(client);
    });
    return client;
  }

  async #fresh(): Promise<PoolClient> {
    for (;;) {
      const client = await this.pool.connect();
      if ((this.#openedAtMs.get(client) ?? 0) >= this.#openedBeforeMs) return client;
      client.release(true);
    }
  }

  /** @throws DelayUnavailableError while too many sessions that were given up are still there */
  async #unlessHanging(client: PoolClient): Promise<void> {
    if (this.#unanswered.size < HANGING_MAX) return;
    const { rows } = await client.query<{ pid: string }>(hangingSql(), [[...this.#unanswered]]);
    this.#unanswered = new Set(rows.map(({ pid }) => Number(pid)));
    if (this.#unanswered.size < HANGING_MAX) return;
    throw new DelayUnavailableError(
      `${this.#unanswered.size} sessions of this node wait for a synchronous replica at their COMMIT`,
    );
  }

  async #run<Row>(client: PoolClient, sql: string, parameters: unknown[]): Promise<Row[]> {
    const rows = await this.#use(client, () => this.prepared.run<Row>(client, sql, parameters));
    client.release();
    return rows;
  }

  async #use<Result>(client: PoolClient, work: () => Promise<Result>): Promise<Result> {
    this.#busy.add(client);
    const sentAtMs = performance.now();
    try {
      return await work();
    } catch (error) {
      client.release(true);
      this.#failed(client, error, sentAtMs);
      throw error;
    } finally {
      this.#busy.delete(client);
    }
  }

  /** What the server refuses says nothing of its other connections, unless it takes no writes at all. */
  #failed(
    client: PoolClient & { processID?: number | null },
    error: unknown,
    sentAtMs: number,
  ): void {
    if (isUnanswered(error)) {
      if (client.processID) this.#unanswered.add(client.processID);
    } else if (!isReadOnly(error)) return;
    this.onDead(sentAtMs);
  }
}
