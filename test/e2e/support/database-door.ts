import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort, HOST } from '../../../src/embedded-postgres/free-port.js';
import type { TestDatabase } from '../../support/database.js';

/** The only way from a shop to its database; shut, the database is away for that shop alone. */
export class DatabaseDoor implements TestDatabase {
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #port = 0;

  static async before(database: TestDatabase): Promise<DatabaseDoor> {
    const door = new DatabaseDoor(database);
    await door.open();
    return door;
  }

  private constructor(private readonly database: TestDatabase) {
    this.#server = createServer();
  }

  get url(): string {
    const url = new URL(this.database.url);
    url.hostname = HOST;
    url.port = String(this.#port);
    return url.href;
  }

  /** Also after it was shut: on the same port. */
  async open(): Promise<void> {
    this.#port ||= await freePort(0);
    this.#server = createServer((client) => this.#passOn(client));
    await once(this.#server.listen(this.#port, HOST), 'listening');
  }

  /** Cuts every connection and refuses new ones. */
  async shut(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async drop(options?: { force?: boolean }): Promise<void> {
    await this.shut();
    await this.database.drop(options);
  }

  #passOn(client: Socket): void {
    const { hostname, port } = new URL(this.database.url);
    const server = connect({ host: hostname, port: Number(port), noDelay: true });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
