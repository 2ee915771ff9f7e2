import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { HOST } from '../../../src/embedded-postgres/free-port.js';
import type { ChaosProxy } from '../world.js';
import type { CutAt } from './commit-watch.js';
import { Link } from './link.js';
import type { Weather } from './weather.js';

const POSTGRES_PORT = 5432;

/** Opens a way to the server that faults can spoil, for one process. */
export async function openProxy(serverUrl: string): Promise<PostgresProxy> {
  const proxy = new PostgresProxy(serverUrl);
  await proxy.open();
  return proxy;
}

export class PostgresProxy implements ChaosProxy {
  readonly #links = new Map<Link, Weather>();
  readonly #weather: Weather = { delayMs: 0, isStill: false };
  readonly #listener: Server;
  #cutAt: CutAt | undefined;

  constructor(private readonly serverUrl: string) {
    const { hostname, port } = new URL(serverUrl);
    const to = { host: hostname, port: Number(port) || POSTGRES_PORT };
    this.#listener = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
      // Its own, where it differs from that of all.
      const weather = Object.create(this.#weather) as Weather;
      const link = new Link(client, to, weather, () => this.#takeCut());
      this.#links.set(link, weather);
      void link.closed.then(() => this.#links.delete(link));
    });
  }

  async open(): Promise<void> {
    this.#listener.listen(0, HOST);
    await once(this.#listener, 'listening');
  }

  get url(): string {
    const url = new URL(this.serverUrl);
    url.hostname = HOST;
    url.port = String((this.#listener.address() as AddressInfo).port);
    return url.href;
  }

  delay(ms: number): void {
    this.#weather.delayMs = ms;
    this.#pump();
  }

  cut(): void {
    for (const link of this.#links.keys()) link.cut();
  }

  halfOpen(): void {
    this.#weather.isStill = true;
  }

  /** Those connections that were opened last fall silent for good; new ones get through. */
  silence(count = Infinity): void {
    for (const weather of [...this.#links.values()].slice(-count)) weather.isStill = true;
  }

  cutAfterCommit(): void {
    this.#cutAt = 'after commit';
  }

  cutBeforeCommit(): void {
    this.#cutAt = 'before commit';
  }

  heal(): void {
    this.#weather.delayMs = 0;
    this.#weather.isStill = false;
    this.#cutAt = undefined;
    this.#pump();
  }

  async close(): Promise<void> {
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    this.cut();
    await closed;
  }

  #pump(): void {
    for (const link of this.#links.keys()) link.pump();
  }

  /** The first COMMIT of all connections gets it. */
  #takeCut(): CutAt | undefined {
    const cutAt = this.#cutAt;
    this.#cutAt = undefined;
    return cutAt;
  }
}
