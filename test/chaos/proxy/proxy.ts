import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { HOST } from '../../../src/embedded-postgres/free-port.js';
import { type CutAt, Link, type Weather } from './link.js';

const POSTGRES_PORT = 5432;
const FOR_EVER = new Promise<void>(() => {});

/** Opens a way to the server that faults can spoil, for one process. */
export async function openProxy(serverUrl: string): Promise<PostgresProxy> {
  const listener = createServer({ noDelay: true, allowHalfOpen: true });
  listener.listen(0, HOST);
  await once(listener, 'listening');
  return new PostgresProxy(serverUrl, listener);
}

/** What lies between one process and the server; each process has one of its own. */
export class PostgresProxy {
  readonly #links = new Map<Link, Weather>();
  /** Texts that silence the connection over which they are sent, and who waits for that. */
  readonly #lastWords = new Map<string, () => void>();
  /** Texts whose answer is another, and who waits for that. */
  readonly #fatal = new Map<string, { answer: Buffer; sent: () => void }>();
  readonly #weather: Weather = { delayMs: 0, stillness: undefined };
  #cutAt: CutAt | undefined;
  #endStillness = (): void => {};

  constructor(
    private readonly serverUrl: string,
    private readonly listener: Server,
  ) {
    const { hostname, port } = new URL(serverUrl);
    const to = { host: hostname, port: Number(port) || POSTGRES_PORT };
    listener.on('connection', (client) => {
      // Its own, where it differs from that of all.
      const weather = Object.create(this.#weather) as Weather;
      client.on('data', (chunk: Buffer) => {
        this.#hear(chunk, weather);
        this.#answer(chunk, link);
      });
      const link = new Link(client, to, weather, () => this.#takeCut());
      this.#links.set(link, weather);
      void link.closed.then(() => this.#links.delete(link));
    });
  }

  get url(): string {
    const url = new URL(this.serverUrl);
    url.hostname = HOST;
    url.port = String((this.listener.address() as AddressInfo).port);
    return url.href;
  }

  /** Every packet of both directions is held up by that long; 0 ends it. */
  delay(ms: number): void {
    this.#weather.delayMs = ms;
  }

  /** Resets all connections. New ones are let in. */
  cut(): void {
    for (const link of this.#links.keys()) link.cut();
  }

  /** Connections stay open and nothing passes any more, until `heal`; new ones hang likewise. */
  halfOpen(): void {
    this.#weather.stillness ??= new Promise((resolve) => (this.#endStillness = resolve));
  }

  /** Those connections that were opened last fall silent for good; new ones get through. @returns how many */
  silence(count = Infinity): number {
    const last = [...this.#links.values()].slice(-count);
    for (const weather of last) weather.stillness = FOR_EVER;
    return last.length;
  }

  /** The connection over which that text is sent falls silent for good, and does not pass it on. Resolves then. */
  silenceAt(text: string): Promise<void> {
    return new Promise((resolve) => this.#lastWords.set(text, resolve));
  }

  /**
   * The server does what that text asks for, and the client hears, as from a balancer, that its
   * session has ended by this error. Resolves when the text is sent.
   */
  endAt(text: string, severity: string, code: string): Promise<void> {
    const fields = [`S${severity}`, `V${severity}`, `C${code}`, 'Mthe server behind is gone', ''];
    const body = Buffer.from(`${fields.join('\0')}\0`);
    const head = Buffer.alloc(5, 'E');
    head.writeInt32BE(body.length + 4, 1);
    return new Promise((sent) =>
      this.#fatal.set(text, { answer: Buffer.concat([head, body]), sent }),
    );
  }

  /** Resets those connections that fell silent for good. */
  cutSilent(): void {
    for (const [link, { stillness }] of this.#links) if (stillness === FOR_EVER) link.cut();
  }

  /** The next COMMIT that a client sends reaches the server, and its answer never comes back. */
  cutAfterCommit(): void {
    this.#cutAt = 'after commit';
  }

  /** The next COMMIT never reaches the server: the connection is reset instead. */
  cutBeforeCommit(): void {
    this.#cutAt = 'before commit';
  }

  heal(): void {
    this.#weather.delayMs = 0;
    this.#weather.stillness = undefined;
    this.#endStillness();
    this.#cutAt = undefined;
  }

  async close(): Promise<void> {
    const closed = once(this.listener, 'close');
    this.listener.close();
    this.cut();
    await closed;
  }

  #hear(chunk: Buffer, weather: Weather): void {
    for (const [text, said] of this.#lastWords) {
      if (!chunk.includes(text)) continue;
      this.#lastWords.delete(text);
      weather.stillness = FOR_EVER;
      said();
    }
  }

  #answer(chunk: Buffer, link: Link): void {
    for (const [text, { answer, sent }] of this.#fatal) {
      if (!chunk.includes(text)) continue;
      this.#fatal.delete(text);
      link.endWith(answer);
      sent();
    }
  }

  /** The first COMMIT of all connections gets it. */
  #takeCut(): CutAt | undefined {
    const cutAt = this.#cutAt;
    this.#cutAt = undefined;
    return cutAt;
  }
}
