import { connect, type Socket } from 'node:net';
import { CommitWatch, type CutAt } from './commit-watch.js';
import { Flow } from './flow.js';
import { reset } from './reset.js';
import type { Weather } from './weather.js';

/** One connection of a client, and the one to the server behind it. */
export class Link {
  readonly #flows: readonly Flow[];
  readonly #sockets: readonly Socket[];
  /** Resolves when both sides are closed. */
  readonly closed: Promise<unknown>;

  constructor(
    client: Socket,
    to: { host: string; port: number },
    weather: Weather,
    takeCut: () => CutAt | undefined,
  ) {
    const server = connect({ ...to, noDelay: true, allowHalfOpen: true });
    const watch = new CommitWatch(takeCut);
    const cut = (): void => this.cut();
    this.#sockets = [client, server];
    this.#flows = [
      new Flow(client, server, weather, (chunk) => watch.fromClient(chunk), cut),
      new Flow(server, client, weather, (chunk) => watch.fromServer(chunk), cut),
    ];
    this.closed = Promise.all(this.#sockets.map((socket) => closing(socket)));
  }

  /** Both sides find their connection reset, at once and whatever the weather. */
  cut(): void {
    for (const flow of this.#flows) flow.drop();
    for (const socket of this.#sockets) reset(socket);
  }

  pump(): void {
    for (const flow of this.#flows) flow.pump();
  }
}

function closing(socket: Socket): Promise<void> {
  // Refused, reset, broken pipe: the flows make of it what the other side is to see.
  socket.on('error', () => {});
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
