import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import type { Runner } from '../store/rows.js';
import type { PreparedStatements } from './prepared-statements.js';

/** Statements that have not ended by then, long after whoever sent them was waited for, are cut. */
const CLOSE_WITHIN_MS = 5_000;

/** A pool that nobody else uses, one statement at a time on each of its connections. */
export class OwnPool implements Runner {
  readonly #queries = new Set<Promise<unknown>>();
  readonly #busy = new Set<PoolClient>();
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
    const query = this.#query<Row>(sql, parameters);
    this.#queries.add(query);
    return query.finally(() => this.#queries.delete(query));
  }

  /** Ends when all statements have their answers: a pool that ends forgets who waits for it. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const enough = pause(CLOSE_WITHIN_MS, undefined, { ref: false });
    await Promise.race([Promise.allSettled(this.#queries), enough]);
    for (const client of this.#busy) void client.end();
    await this.pool.end();
  }

  async #query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const client = await this.pool.connect();
    this.#busy.add(client);
    try {
      const rows = await this.prepared.run<Row>(client, sql, parameters);
      client.release();
      return rows;
    } catch (error) {
      client.release(true);
      throw error;
    } finally {
      this.#busy.delete(client);
    }
  }
}
