import {
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Longer than an answer takes; well before a supervisor loses patience. */
const ANSWERS_WITHIN_MS = 12_000;

/**
 * Ends the connections when the shop stops. Node's server would wait for each that has never sent a
 * request, as browsers keep some ready, for each that is in the middle of sending one, and for each whose
 * request it still answered, until that has been idle for long: its client would keep the shop
 * from stopping. Only requests that have come are waited for, and not for ever.
 */
@Injectable()
export class Connections implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** How many requests of each are being answered. */
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
    // What was written goes out before it ends.
    if (this.#stopping && before + change === 0) socket.destroySoon();
  }
}
