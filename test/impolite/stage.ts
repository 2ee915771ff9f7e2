import { Client, Pool } from 'pg';
import { openProxy, type PostgresProxy } from '../chaos/proxy/proxy.js';
import type { Ground } from './ground.js';
import { Handlers } from './handlers.js';
import { type ImpoliteNode, startImpoliteNode } from './node.js';
import { asked, Player } from './player.js';
import type { Program, Slot } from './program.js';
import { Record } from './record.js';

const HOLD_SQL = `SELECT FROM delay_queue.delay WHERE name = $1 AND key = $2 FOR UPDATE SKIP LOCKED`;

/** Connections that locks are held on. */
const HOLDERS_MAX = 6;

/** What a program is played on: a database of its own, its nodes, and somebody who watches. */
export class Stage {
  readonly nodes: ImpoliteNode[] = [];
  readonly record = new Record();
  readonly player: Player;
  readonly handlers: Handlers;

  static async open(ground: Ground, { setup, before }: Program): Promise<Stage> {
    const database = await ground.database(setup.settings);
    const proxy = setup.isBehindProxy ? await openProxy(database.url) : undefined;
    const stage = new Stage(database.url, database.drop, proxy);
    try {
      await stage.#begin(setup, proxy?.url ?? database.url);
      for (const wish of before) await stage.#place(wish);
      stage.record.placedAt = stage.record.moment();
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  readonly client: Client;
  readonly #holders: Pool;

  private constructor(
    url: string,
    private readonly drop: () => Promise<void>,
    /** Between the nodes and the server. */
    readonly proxy: PostgresProxy | undefined,
  ) {
    this.client = new Client({ connectionString: url });
    // Of a program that hangs, when the server goes: it is told as such.
    this.client.on('error', () => {});
    this.#holders = new Pool({ connectionString: url, max: HOLDERS_MAX });
    // Its connections go a little after it says so, and the database may be quicker.
    this.#holders.on('error', () => {});
    this.player = new Player({ record: this.record, hold: (slot) => this.#hold(slot) });
    this.handlers = new Handlers(this.record, this.player);
  }

  async close(): Promise<void> {
    this.proxy?.cut();
    for (const node of this.nodes) await node.stop();
    await this.#holders.end();
    await this.client.end();
    await this.proxy?.close();
    await this.drop();
  }

  async #begin(setup: Program['setup'], url: string): Promise<void> {
    await this.client.connect();
    while (this.nodes.length < setup.nodes) {
      const node = await startImpoliteNode(url, setup, this.handlers.providers());
      node.dataSource.subscribers.push(this.handlers.subscriber);
      node.events.on('completed', (event) => this.record.completed.push(event));
      this.nodes.push(node);
    }
  }

  async #place(wish: Program['before'][number]): Promise<void> {
    const token = this.record.token('b');
    const { name, payload, options } = asked(wish, token);
    await this.nodes[0]?.delays.schedule(name, payload, options);
  }

  async #hold({ name, key }: Slot): Promise<() => Promise<void>> {
    const client = await this.#holders.connect();
    await client.query('BEGIN');
    await client.query(HOLD_SQL, [name, key]);
    return async () => {
      await client.query('ROLLBACK');
      client.release();
    };
  }
}
