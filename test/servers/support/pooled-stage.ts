import { Client } from 'pg';
import { type DelayNode, type NodeSetup, startNode } from '../../support/delay-node.js';
import { Parts } from '../../support/parts.js';
import { Stage } from '../../integration/engine/support/stage.js';
import { PgBouncer } from './pgbouncer.js';

/** Fewer sessions than the connections of one node: its clients share them. */
export const POOL_SIZE = 4;

/** One database, its nodes behind a PgBouncer in transaction mode, and the test straight at the server. */
export class PooledStage {
  readonly #nodes: DelayNode[] = [];
  /** Of its nodes. */
  readonly parts = new Parts();

  static async open(): Promise<PooledStage> {
    const stage = await Stage.open();
    try {
      const bouncer = await PgBouncer.start({ serverUrl: stage.url, poolSize: POOL_SIZE });
      return new PooledStage(stage, bouncer);
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  private constructor(
    /** Not through the pooler. */
    readonly direct: Stage,
    readonly bouncer: PgBouncer,
  ) {}

  async start(setup: Omit<NodeSetup, 'url'>): Promise<DelayNode> {
    const options = { backoff: { base: 5, jitter: 0 }, ...setup.options };
    const node = await startNode({ parts: this.parts, ...setup, options, url: this.bouncer.url });
    this.#nodes.push(node);
    return node;
  }

  async stopNodes(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }

  /**
   * What the clients before left on the pooler's sessions, asked on all of them at once: a transaction
   * on each keeps one client from being given the session of another.
   */
  async leftOnSessions(): Promise<SessionState[]> {
    const clients = Array.from(
      { length: POOL_SIZE },
      () => new Client({ connectionString: this.bouncer.url }),
    );
    try {
      const states: SessionState[] = [];
      for (const client of clients) {
        await client.connect();
        await client.query('BEGIN');
        states.push((await client.query<SessionState>(SESSION_STATE)).rows[0]!);
      }
      return states;
    } finally {
      for (const client of clients) await client.end();
    }
  }

  async close(): Promise<void> {
    await this.stopNodes();
    await this.bouncer.stop();
    await this.direct.close();
  }
}

export interface SessionState {
  pid: number;
  listens: string[];
  locks: number;
  statements: number;
  /** Settings that somebody made for longer than a transaction. */
  settings: string[];
}

/** Left out are settings that PgBouncer keeps in step with each client, and that of this transaction. */
const SESSION_STATE = `
  SELECT pg_backend_pid() AS pid,
         ARRAY(SELECT pg_listening_channels()) AS listens,
         (SELECT count(*)::int FROM pg_locks
          WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS locks,
         (SELECT count(*)::int FROM pg_prepared_statements) AS statements,
         ARRAY(SELECT name FROM pg_settings
               WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding',
                 'DateStyle', 'TimeZone', 'standard_conforming_strings', 'transaction_isolation')) AS settings`;
