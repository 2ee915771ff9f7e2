import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Answer {
  /** 0: the connection broke before there was one. */
  status: number;
  body: string;
  /** From the call to the last byte. */
  tookMs: number;
}

/** Requests over connections that stay open, as many at a time as are called for. */
export class ShopClient {
  readonly #agent = new Agent({ keepAlive: true });

  constructor(private readonly url: string) {}

  async send(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const startedAtMs = performance.now();
    const json = body === undefined ? undefined : JSON.stringify(body);
    const sent = request(this.url + path, {
      method,
      agent: this.#agent,
      headers:
        json === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) },
    });
    // Beside the one below: a connection that breaks off late would end the bench.
    sent.on('error', () => {});
    sent.end(json);
    try {
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const answered = await text(response);
      const tookMs = performance.now() - startedAtMs;
      return { status: response.statusCode ?? 0, body: answered, tookMs };
    } catch (error) {
      return { status: 0, body: String(error), tookMs: performance.now() - startedAtMs };
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
