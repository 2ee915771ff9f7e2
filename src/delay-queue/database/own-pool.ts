import type { Pool, PoolClient } from 'pg';
import type { Runner } from '../store/wire/runner.js';
import { within } from '../tasks/within.js';
import type { PreparedStatements } from './prepared-statements.js';

/** Statements that have no answer so long after the pool began to close are cut. */
const CLOSE_WITHIN_MS = 5_000;

/** A server that had no connection to give writes a line about it each time it is asked. */
const ASK_AGAIN_AFTER_MS = 10_000;

/** May have a pool for callers' statements; undefined while there is none. */
export interface CallersPool {
  readonly callers: Pick<OwnPool, 'tryQuery'> | undefined;
}

/** A pool of the engine alone, one statement at a time on each of its connections. */
export class OwnPool implements Runner {
  readonly #queries = new Set<Promise<unknown>>();
  readonly #busy = new Set<PoolClient>();
  #asksAgainAtMs = -Infinity;
  #isClosing = false;

  constructor(
    private readonly pool: Pool,
    private readonly prepared: PreparedStatements,
  ) {}

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
      const client = await this.#connect().catch(() => undefined);
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
    const client = await this.pool.connect();
    await this.#use(client, () => this.prepared.applySettings(client));
    return client;
  }

  async #run<Row>(client: PoolClient, sql: string, parameters: unknown[]): Promise<Row[]> {
    const rows = await this.#use(client, () => this.prepared.run<Row>(client, sql, parameters));
    client.release();
    return rows;
  }

  async #use<Result>(client: PoolClient, work: () => Promise<Result>): Promise<Result> {
    this.#busy.add(client);
    try {
      return await work();
    } catch (error) {
      client.release(true);
      throw error;
    } finally {
      this.#busy.delete(client);
    }
  }
}
