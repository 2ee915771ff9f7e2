import type { DelayQueueOptions } from 'nestjs-delay-queue';
import { Pool, type QueryResultRow } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../support/database.js';
import { type DelayNode, type NodeSetup, startNode } from '../../../support/delay-node.js';
import { Parts } from '../../../support/parts.js';
import { until } from '../../../support/until.js';
import { insertOverdue } from './overdue.js';

type QueueTable = 'abort' | 'delay' | 'history' | 'node' | 'pause' | 'rerun';

/** Retries come soon; nothing else is other than usual. */
const QUICK: DelayQueueOptions = { backoff: { base: 5, jitter: 0 } };

/** One database and the nodes of one test on it. */
export class Stage {
  /** Of the nodes of this stage. */
  readonly parts = new Parts();
  readonly #nodes: DelayNode[] = [];

  static async open(): Promise<Stage> {
    const database = await createTestDatabase();
    const pool = new Pool({ connectionString: database.url, max: 4, application_name: 'stage' });
    // A database that is dropped by force ends what the pool has not quite closed.
    pool.on('error', () => {});
    return new Stage(database, pool);
  }

  private constructor(
    private readonly database: TestDatabase,
    private readonly pool: Pool,
  ) {}

  get url(): string {
    return this.database.url;
  }

  /** @param setup `url` when something lies between the node and the database */
  async start(setup: Omit<NodeSetup, 'url'> & { url?: string }): Promise<DelayNode> {
    const options = { ...QUICK, ...setup.options };
    const node = await startNode({ url: this.url, parts: this.parts, ...setup, options });
    this.#nodes.push(node);
    return node;
  }

  /** Settings of the database, for all sessions that begin from now on. */
  async set(settings: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(settings)) {
      await this.sql(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET ${name} = %L', current_database(), '${value}'); END $$`,
      );
    }
  }

  /** Not through a node's pool, which a test may have taken. */
  async sql<Row extends QueryResultRow>(text: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(text, parameters)).rows;
  }

  /**
   * Empties tables of the queue, each in a transaction of its own: a node that still writes an outcome
   * locks them in another order, and Postgres would end one of the two.
   */
  async truncate(...tables: QueueTable[]): Promise<void> {
    for (const table of tables) await this.sql(`TRUNCATE delay_queue.${table}`);
  }

  /** Looks until `accept` is content; answers what it saw then. */
  async until<Row extends QueryResultRow>(
    text: string,
    accept: (rows: Row[]) => boolean,
  ): Promise<Row[]> {
    return until(() => this.sql<Row>(text), accept);
  }

  /** Resolves when no delay is left. */
  async noneLeft(): Promise<void> {
    await this.until('SELECT FROM delay_queue.delay LIMIT 1', (rows) => rows.length === 0);
  }

  /** Delays that were due long before any node looks. */
  async overdue(...given: Parameters<typeof insertOverdue>): Promise<void> {
    await this.sql(...insertOverdue(...given));
  }

  /** Harmless when it is closed already. */
  async close({ force = false } = {}): Promise<void> {
    if (this.pool.ending) return;
    await Promise.all(this.#nodes.map((node) => node.stop()));
    await this.pool.end();
    await this.database.drop({ force });
  }
}
