import { afterEach, beforeEach } from '@jest/globals';
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

/** Of a worker that has nothing to lose: however busy the machine is, it keeps what it has claimed. */
export const KEEPS_LEASES: Partial<WorkerSetup> = { options: { lease: '20s', timeout: '20s' } };

export type Worker = NodeProcess<WorkerMessage> & { nodeName: string };

/** Worker processes and a producer on one database, with a ledger of what was done; anew for each test of a file. */
export class Cluster {
  #workers: Worker[] = [];
  #sessions: Client[] = [];
  #producer: Promise<DelayNode> | undefined;
  #database!: TestDatabase;
  #pool!: Pool;

  /** @param create where else the database lies; it has our tables */
  constructor(create: () => Promise<TestDatabase> = createTestDatabase) {
    beforeEach(async () => {
      this.#database = await create();
      this.#pool = new Pool({ connectionString: this.url, max: 4 });
      // Connections of the pool that a test kills say so here.
      this.#pool.on('error', () => {});
      // Without a unique key: what was done twice must show.
      await this.sql(`CREATE TABLE ledger (
        delay_id bigint NOT NULL, name text NOT NULL, key text, node text, attempt int NOT NULL,
        due timestamptz NOT NULL, lateness_ms float8 NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    });

    afterEach(() => this.#close());
  }

  get url(): string {
    return this.#database.url;
  }

  /** Starts a worker and waits until it is ready. */
  async worker(
    nodeName: string,
    serves: WorkerSetup['serves'],
    setup: Partial<WorkerSetup> = {},
    env: Record<string, string> = {},
  ): Promise<Worker> {
    const options = { ...SHORT, ...setup.options, nodeName };
    const asked: WorkerSetup = { url: this.url, ...setup, serves, options };
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

  /** Schedules one of that name, by its name as the key, and waits until the worker holds it. */
  async held(worker: Worker, name: `test.${string}`): Promise<void> {
    const { delays } = await this.producer();
    await delays.schedule(name, null, { after: 0, key: name });
    await worker.waitFor(({ holding }) => holding === name);
  }

  /** A connection for one test's own transaction. */
  async session(): Promise<Client> {
    const client = new Client({ connectionString: this.url });
    this.#sessions.push(client);
    await client.connect();
    return client;
  }

  /** Schedules so many of that name, due within the time given. */
  async schedule(name: `test.${string}`, count: number, spreadMs = 0): Promise<void> {
    const { delays } = await this.producer();
    await delays.scheduleMany(
      Array.from({ length: count }, (_, n) => ({
        name,
        payload: null,
        key: `${name}-${n}`,
        after: (n * spreadMs) / count,
      })),
    );
  }

  async sql<Row extends QueryResultRow>(text: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, parameters)).rows;
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

  /** How often each key was done, of those that were. */
  async timesDone(name: string): Promise<Map<string, number>> {
    const rows = await this.sql<{ key: string; times: number }>(
      'SELECT key, count(*)::int AS times FROM ledger WHERE name = $1 GROUP BY key',
      [name],
    );
    return new Map(rows.map(({ key, times }) => [key, times]));
  }

  /** How delays of that name ended, the first one first. */
  ends(name: string): Promise<{ node: string; state: string; attempts: number }[]> {
    const text =
      'SELECT node, state, attempts FROM delay_queue.history WHERE name = $1 ORDER BY id';
    return this.sql(text, [name]);
  }

  /** Until no delay is left but dead letters. */
  async quiet(): Promise<void> {
    await this.until<{ left: number }>(
      `SELECT count(*)::int AS left FROM delay_queue.delay WHERE wake_at < 'infinity'`,
      ([row]) => row?.left === 0,
    );
  }

  async #close(): Promise<void> {
    for (const worker of this.#workers) if (worker.running) await worker.kill('SIGKILL');
    await (await this.#producer)?.stop();
    for (const session of this.#sessions) await session.end();
    await this.#pool.end();
    await this.#database.drop({ force: true });
    [this.#workers, this.#sessions, this.#producer] = [[], [], undefined];
  }
}
