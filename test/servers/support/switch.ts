import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { HOST } from '../../../src/embedded-postgres/free-port.js';

/** One address that leads to whichever server is the primary, as a virtual IP or a DNS name does. */
export class Switch {
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  #to: URL;

  static async open(serverUrl: string): Promise<Switch> {
    const opened = new Switch(serverUrl);
    opened.#listener.listen(0, HOST);
    await once(opened.#listener, 'listening');
    return opened;
  }

  private constructor(serverUrl: string) {
    this.#to = new URL(serverUrl);
    this.#listener = createServer({ noDelay: true }, (client) => {
      const server = connect({
        host: this.#to.hostname,
        port: Number(this.#to.port),
        noDelay: true,
      });
      this.#join(client, server);
      this.#join(server, client);
    });
  }

  /** The server's URL by way of this. */
  through(serverUrl: string): string {
    const url = new URL(serverUrl);
    url.hostname = HOST;
    url.port = String((this.#listener.address() as AddressInfo).port);
    return url.href;
  }

  /** New connections lead there; those that are open stay where they are. */
  pointTo(serverUrl: string): void {
    this.#to = new URL(serverUrl);
  }

  async close(): Promise<void> {
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('error', () => {});
    from.once('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}
