import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HOST } from '../../src/embedded-postgres/free-port.js';

/** How it answers what is posted to one path. */
type Manner = 'at once' | 'slowly' | 'never';

const SLOW_MS = 1_000;

/** Another company's server, which takes what the shop posts, and on some paths takes its time. */
export class Partner {
  readonly #manners = new Map<string, Manner>();
  readonly #held = new Map<ServerResponse, string>();

  static async start(): Promise<Partner> {
    const partner = new Partner(createServer());
    partner.server.on('request', ({ url = '' }, answer) => partner.#take(url, answer));
    partner.server.listen(0, HOST);
    await once(partner.server, 'listening');
    return partner;
  }

  private constructor(private readonly server: Server) {}

  get url(): string {
    return `http://${HOST}:${(this.server.address() as AddressInfo).port}`;
  }

  /** From now on; what it holds is answered unless it never answers. */
  answers(path: string, manner: Manner): void {
    this.#manners.set(path, manner);
    if (manner === 'never') return;
    for (const [answer, of] of this.#held) if (of === path) answer.writeHead(204).end();
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  #take(path: string, answer: ServerResponse): void {
    const manner = this.#manners.get(path) ?? 'at once';
    if (manner === 'at once') return void answer.writeHead(204).end();
    this.#held.set(answer, path);
    const slow =
      manner === 'slowly' ? setTimeout(() => answer.writeHead(204).end(), SLOW_MS) : undefined;
    answer.once('close', () => {
      clearTimeout(slow);
      this.#held.delete(answer);
    });
  }
}
