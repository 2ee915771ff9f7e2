import type { DelayQueueOptions } from 'nestjs-delay-queue';
import { Client, Pool, type QueryResultRow } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type DelayNode, startNode } from '../../support/delay-node.js';
import { NodeProcess } from '../../support/node-process.js';
import type { LedgerLine, WorkerMessage, WorkerSetup } from './worker.protocol.js';
import { until } from '../../support/until.js';

/** Short, so that a crash is over soon; long enough for a busy machine to keep its leases. */
export const SHORT: DelayQueueOptions = {
  lease: '1s',
  loadEvery: '500ms',
  horizon: '2s',
  timeout: '3s',
  drainTimeout: '20s',
};

export type Worker = NodeProcess<WorkerMessage> & { nodeName: string };

/** Worker processes and a producer on one database, with a ledger of what was done. */
export class Cluster {
  readonly #workers: Worker[] = [];
  readonly #sessions: Client[] = [];
  #producer: Promise<DelayNode> | undefined;

  static async open(): Promise<Cluster> {
    const database = await createTestDatabase();
    const cluster = new Cluster(database, new Pool({ connectionString: database.url, max: 4 }));
    // Without a unique key: what was done twice must show.
    await cluster.sql(`CREATE TABLE ledger (
      delay_id bigint NOT NULL, name text NOT NULL, key text, node text, attempt int NOT NULL,
      due timestamptz NOT NULL, lateness_ms float8 NOT NULL,
      at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    return cluster;
  }

  private constructor(
    private readonly database: TestDatabase,
    private readonly pool: Pool,
  ) {
    // Connections of the pool that a test kills say so here.
    pool.on('error', () => {});
  }

  get url(): string {
    return this.database.url;
  }

  /** Starts a worker and waits until it is ready. */
  async worker(
    nodeName: string,
    setup: Omit<WorkerSetup, 'url'>,
    env: Record<string, string> = {},
  ): Promise<Worker> {
    const options = { ...SHORT, ...setup.options, nodeName };
    const asked: WorkerSetup = { ...setup, url: this.url, options };
    const worker = Object.assign(
      NodeProcess.start<WorkerMessage>('test/cluster/fixtures/worker.ts', {
        env: { ...env, CLUSTER_WORKER: JSON.stringify(asked) },
      }),
      { nodeName },
    );
    this.#workers.push(worker);
    await worker.waitFor(({ ready }) => ready !== undefined);
    return worker;
  }

  /** A node in this process that only schedules. */
  producer(): Promise<DelayNode> {
    // The promise, not the node: two callers at once would start two, and one would be left open.
    this.#producer ??= startNode({ url: this.url, options: { worker: false } });
    return this.#producer;
  }

  /** A connection for one test's own transaction. */
  async session(): Promise<Client> {
    const client = new Client({ connectionString: this.url });
    this.#sessions.push(client);
    await client.connect();
    return client;
  }

  async sql<Row extends QueryResultRow>(text: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(text, parameters)).rows;
  }

  /** Lines in the order in which they were written. */
  ledger(): Promise<LedgerLine[]> {
    return this.sql<LedgerLine & QueryResultRow>(
      `SELECT delay_id, name, key, node, attempt, lateness_ms,
              extract(epoch FROM at - due)::float8 * 1000 AS late_ms
       FROM ledger ORDER BY at`,
    );
  }

  /** Looks until `accept` is content. */
  async until<Row extends QueryResultRow>(
    text: string,
    accept: (rows: Row[]) => boolean,
    parameters: unknown[] = [],
  ): Promise<Row[]> {
    const tell = (rows: Row[]): string => {
      const output = this.#workers.map((each) => `${each.nodeName}: ${each.output.slice(-1000)}`);
      return [JSON.stringify(rows), `to ${text}`, ...output].join('\n');
    };
    return until(() => this.sql<Row>(text, parameters), accept, { tell });
  }

  /** Until no delay is left but dead letters. */
  async quiet(): Promise<void> {
    await this.until<{ left: number }>(
      `SELECT count(*)::int AS left FROM delay_queue.delay WHERE wake_at < 'infinity'`,
      ([row]) => row?.left === 0,
    );
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) {
      if (worker.running) await worker.kill('SIGKILL');
    }
    await (await this.#producer)?.stop();
    for (const session of this.#sessions) await session.end();
    await this.pool.end();
    await this.database.drop({ force: true });
  }
}
