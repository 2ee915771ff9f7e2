import type { Pool, PoolClient } from 'pg';
import { DelayUnavailableError } from '../api/errors.js';
import { within } from '../tasks/signal.js';
import { isReadOnly, isUnanswered } from './driver-errors.js';
import type { PreparedStatements } from './prepared-statements.js';
import type { Runner } from './runner.js';
import { hangingSql } from './sessions.sql.js';

/** Statements without an answer so long after the pool began to close are cut off. */
const CLOSE_WITHIN_MS = 5_000;

/** A server without a free connection logs a line at each attempt to connect. */
const ASK_AGAIN_AFTER_MS = 10_000;

/**
 * Sessions given up while they waited for a synchronous replica, which the server keeps until then;
 * ended by force, they would commit without the replica.
 */
const HANGING_MAX = 6;

/** May have a pool for callers' statements. */
export interface CallersPool {
  readonly callers: Pick<OwnPool, 'tryQuery'> | undefined;
}

/** A pool of the engine alone, one statement at a time on each of its connections. */
export class OwnPool implements Runner {
  readonly #queries = new Set<Promise<unknown>>();
  readonly #busy = new Set<PoolClient>();
  readonly #openedAtMs = new WeakMap<PoolClient, number>();
  /** Server processes whose last statement was not answered. */
  #unanswered = new Set<number>();
  #openedBeforeMs = -Infinity;
  #asksAgainAtMs = -Infinity;
  #isClosing = false;

  /** @param onDead called when a connection is silent or read-only; older ones may be so as well */
  constructor(
    private readonly pool: Pool,
    private readonly prepared: PreparedStatements,
    private readonly onDead: (openedBeforeMs: number) => void,
  ) {
    pool.on('connect', (client) => this.#openedAtMs.set(client, performance.now()));
  }

  /** No longer uses connections opened before that instant of `performance.now()`. */
  renew(openedBeforeMs: number): void {
    this.#openedBeforeMs = Math.max(openedBeforeMs, this.#openedBeforeMs);
  }

  get figures(): { used: number; idle: number } {
    const { totalCount, idleCount } = this.pool;
    return { used: totalCount - idleCount, idle: idleCount };
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Runs one statement; after a failure its connection is not reused. */
  query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.#noted(async () => this.#run<Row>(await this.#connect(), sql, parameters));
  }

  /** Runs several statements in one transaction; after a failure its connection is not reused. */
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

  /** As `query`, but undefined when no connection is available: the caller uses another pool. */
  async tryQuery<Row>(sql: string, parameters: unknown[]): Promise<Row[] | undefined> {
    if (performance.now() < this.#asksAgainAtMs) return undefined;
    return this.#noted(async () => {
      const client = await this.#connect().catch((error: unknown) => {
        // Another pool would hang as well.
        if (error instanceof DelayUnavailableError) throw error;
        return undefined;
      });
      if (client !== undefined) return this.#run<Row>(client, sql, parameters);
      this.#asksAgainAtMs = performance.now() + ASK_AGAIN_AFTER_MS;
      return undefined;
    });
  }

  /** Waits for all answers, because a pool that ends forgets its waiting callers. */
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

  /** Until this ends, nothing of the statement has been sent. */
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

  /** @throws DelayUnavailableError while too many sessions that were given up still exist */
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

  /** A refusal says nothing about other connections, unless the server refuses all writes. */
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
