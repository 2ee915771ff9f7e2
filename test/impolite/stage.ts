import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Client, Pool } from 'pg';
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
  #echo: Server | undefined;
  #sockets = new Set<Socket>();

  static async open(ground: Ground, { setup, before }: Program): Promise<Stage> {
    const database = await ground.database();
    const stage = new Stage(database.url, database.drop);
    try {
      await stage.#begin(setup);
      for (const wish of before) await stage.#place(wish);
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  readonly client: Client;
  readonly #holders: Pool;

  private constructor(
    private readonly url: string,
    private readonly drop: () => Promise<void>,
  ) {
    this.client = new Client({ connectionString: url });
    this.#holders = new Pool({ connectionString: url, max: HOLDERS_MAX });
    // Its connections go a little after it says so, and the database may be quicker.
    this.#holders.on('error', () => {});
    const stage = this;
    this.player = new Player({
      record: this.record,
      hold: (slot) => this.#hold(slot),
      get echoPort() {
        return (stage.#echo?.address() as AddressInfo).port;
      },
    });
    this.handlers = new Handlers(this.record, this.player);
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.stop();
    await this.#holders.end();
    await this.client.end();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#echo) {
      this.#echo.close();
      await once(this.#echo, 'close');
    }
    await this.drop();
  }

  async #begin(setup: Program['setup']): Promise<void> {
    await this.client.connect();
    await this.#openEcho();
    while (this.nodes.length < setup.nodes) {
      const node = await startImpoliteNode(this.url, setup, this.handlers.providers());
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

  async #openEcho(): Promise<void> {
    this.#echo = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => this.#sockets.delete(socket));
      socket.pipe(socket);
    });
    this.#echo.listen(0, '127.0.0.1');
    await once(this.#echo, 'listening');
  }
}
