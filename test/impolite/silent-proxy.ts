import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Random } from '../../src/random.js';

/** A connection through it. */
interface Link {
  sockets: readonly [client: Socket, server: Socket];
  /** It passes nothing on any more. */
  isSilent: boolean;
  /** It passes no answers on any more. */
  losesAnswers: boolean;
}

/** A way to a server on which single connections can fall silent for ever, and new ones work. */
export class SilentProxy {
  readonly #links = new Set<Link>();
  /** Texts that silence the link over which they are sent, and who waits for that. */
  readonly #lastWords = new Map<string, () => void>();

  static async open(serverUrl: string): Promise<SilentProxy> {
    const listener = createServer({ noDelay: true });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return new SilentProxy(serverUrl, listener);
  }

  private constructor(
    private readonly serverUrl: string,
    private readonly listener: Server,
  ) {
    const { hostname, port } = new URL(serverUrl);
    listener.on('connection', (client) => {
      const server = connect({ host: hostname, port: Number(port), noDelay: true });
      const link: Link = { sockets: [client, server], isSilent: false, losesAnswers: false };
      this.#links.add(link);
      this.#pass(link, client, server);
      this.#pass(link, server, client);
    });
  }

  get url(): string {
    const url = new URL(this.serverUrl);
    url.port = String((this.listener.address() as AddressInfo).port);
    return url.href;
  }

  /** Nothing comes through that many of the connections any more, and nobody is told. */
  silence(count: number, random: Random): number {
    const living = [...this.#links].filter(({ isSilent }) => !isSilent);
    let silenced = 0;
    while (silenced < count && living.length > 0) {
      const [link] = living.splice(random.integer(0, living.length - 1), 1);
      if (link) link.isSilent = true;
      silenced += 1;
    }
    return silenced;
  }

  /** The connection falls silent over which that text is sent, and does not pass it on. Resolves then. */
  silenceAt(text: string): Promise<void> {
    return new Promise((resolve) => this.#lastWords.set(text, resolve));
  }

  /** From now on nothing is heard from the server on the connection of that port of the client's. */
  loseAnswers(clientPort: number): void {
    for (const link of this.#links) {
      if (link.sockets[0].remotePort === clientPort) link.losesAnswers = true;
    }
  }

  /** Ends the connection of that port of the client's. */
  cutAt(clientPort: number): void {
    for (const { sockets } of this.#links) {
      if (sockets[0].remotePort === clientPort) for (const socket of sockets) socket.destroy();
    }
  }

  /** Ends the connections that are silent. */
  cutSilent(): void {
    for (const { sockets, isSilent } of this.#links) {
      if (isSilent) for (const socket of sockets) socket.destroy();
    }
  }

  /** Ends all connections. */
  cut(): void {
    for (const { sockets } of this.#links) for (const socket of sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.listener, 'close');
    this.listener.close();
    this.cut();
    await closed;
  }

  #pass(link: Link, from: Socket, to: Socket): void {
    const [client] = link.sockets;
    from.on('data', (chunk: Buffer) => {
      if (from === client) this.#silenceBy(link, chunk);
      const isLost = to === client && link.losesAnswers;
      if (!link.isSilent && !isLost) to.write(chunk);
    });
    from.on('error', () => {});
    from.once('close', () => {
      this.#links.delete(link);
      if (!link.isSilent) to.destroy();
    });
  }

  #silenceBy(link: Link, chunk: Buffer): void {
    for (const [text, said] of this.#lastWords) {
      if (!chunk.includes(text)) continue;
      this.#lastWords.delete(text);
      link.isSilent = true;
      said();
    }
  }
}
