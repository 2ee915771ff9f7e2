import {
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Longer than any answer takes, and well before a supervisor kills the shop. */
const ANSWERS_WITHIN_MS = 12_000;

/**
 * Ends connections when the shop stops. Node's server would wait for connections that have never
 * sent a request (browsers keep some ready), for those in the middle of sending one, and for those
 * just answered until they have been idle for long: a client could keep the shop from stopping.
 * Only requests that have arrived are waited for, and only for a limited time.
 */
@Injectable()
export class Connections implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** Requests being answered, by connection. */
  readonly #open = new Map<Socket, number>();
  #stopping = false;

  constructor(private readonly host: HttpAdapterHost) {}

  onApplicationBootstrap(): void {
    const server = this.#server;
    if (server === undefined) return;
    server.on('connection', (socket) => {
      this.#open.set(socket, 0);
      socket.once('close', () => this.#open.delete(socket));
    });
    const answers = (request: IncomingMessage, response: ServerResponse): void => {
      this.#count(request.socket, 1);
      response.once('close', () => this.#count(request.socket, -1));
    };
    server.on('request', answers).on('checkExpectation', answers);
  }

  /** Nest closes the server as well, later, and finds it closed. */
  async beforeApplicationShutdown(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#stopping = true;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const [socket, answering] of this.#open) if (answering === 0) socket.destroy();
    const tooLong = setTimeout(() => {
      for (const socket of this.#open.keys()) socket.destroy();
    }, ANSWERS_WITHIN_MS);
    await closed;
    clearTimeout(tooLong);
  }

  /** A shop without HTTP has none: it only runs handlers. */
  get #server(): Server | undefined {
    const adapter: HttpAdapterHost['httpAdapter'] | null = this.host.httpAdapter;
    return adapter?.getHttpServer() as Server | undefined;
  }

  #count(socket: Socket, change: 1 | -1): void {
    const before = this.#open.get(socket);
    if (before === undefined) return;
    this.#open.set(socket, before + change);
    // Sends what was written before it ends.
    if (this.#stopping && before + change === 0) socket.destroySoon();
  }
}
