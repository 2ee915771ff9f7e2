import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** One post that arrived. */
export interface Posted {
  key: string;
  body: { id: string; orderId?: string; recipient?: string; kind: string; text: string };
}

/** A provider of messages as the shop sees it: it takes posts, and answers what it is told to. */
export class Webhook {
  readonly posted: Posted[] = [];
  /** What is answered from now on; `null`: nothing at all. */
  answers: number | null = 204;
  /** The same for somebody of a campaign. */
  readonly answersTo = new Map<string, number | null>();

  /** Those who wait for an answer. */
  readonly #silent = new Set<ServerResponse>();

  private constructor(private readonly server: Server) {}

  static async open(): Promise<Webhook> {
    const server = createServer();
    const webhook = new Webhook(server);
    server.on('request', (request, response: ServerResponse) => {
      void json(request).then((body) => {
        const key = String(request.headers['idempotency-key']);
        const posted = { key, body: body as Posted['body'] };
        webhook.posted.push(posted);
        const own = webhook.answersTo.get(posted.body.recipient ?? '');
        const answer = own === undefined ? webhook.answers : own;
        // Whoever follows a redirect comes back for ever.
        if (answer !== null) response.writeHead(answer, { location: '/' }).end();
        else webhook.#silent.add(response);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return webhook;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/secret-path`;
  }

  /** The posts of one order and kind. */
  of(orderId: string, kind: string): Posted[] {
    return this.posted.filter(({ body }) => body.orderId === orderId && body.kind === kind);
  }

  /** Answers 204 to those who wait. */
  letGo(): void {
    for (const response of this.#silent) response.writeHead(204).end();
    this.#silent.clear();
    this.answersTo.clear();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
