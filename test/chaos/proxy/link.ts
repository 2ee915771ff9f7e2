import { connect, type Socket } from 'node:net';
import { Flow, reset, type Weather } from './flow.js';

/** Where the next COMMIT is cut off. */
export type CutAt = 'before commit' | 'after commit';

/** As drivers send it: a message of its own, when everything before it has been answered. */
const COMMIT = Buffer.from('Q\0\0\0\x0bCOMMIT\0');

/** One connection of a client, and the one to the server behind it. */
export class Link {
  readonly #flows: readonly Flow[];
  readonly #server: Socket;
  /** Resolves when both sides are closed. */
  readonly closed: Promise<unknown>;
  #cutsAnswer = false;

  /** @param takeCut tells once where to cut, to the first connection that asks at a COMMIT */
  constructor(
    private readonly client: Socket,
    to: { host: string; port: number },
    weather: Weather,
    private readonly takeCut: () => CutAt | undefined,
  ) {
    const server = connect({ ...to, noDelay: true, allowHalfOpen: true });
    this.#server = server;
    const closed = [client, server].map(
      (socket) => new Promise((end) => socket.once('close', end)),
    );
    this.closed = Promise.all(closed);
    this.#flows = [
      new Flow(client, server, weather, (chunk) => this.#ask(chunk)),
      new Flow(server, client, weather, (chunk) => this.#answer(chunk)),
    ];
  }

  /** Both sides find their connection reset, at once and whatever the weather. */
  cut(): void {
    for (const flow of this.#flows) flow.drop();
    for (const socket of [this.client, this.#server]) reset(socket);
  }

  pump(): void {
    for (const flow of this.#flows) flow.pump();
  }

  #ask(chunk: Buffer): void {
    const cutAt = chunk.includes(COMMIT) ? this.takeCut() : undefined;
    if (cutAt === 'before commit') {
      this.cut();
      return;
    }
    this.#cutsAnswer = cutAt === 'after commit';
    this.#server.write(chunk);
  }

  /** After a COMMIT the server has said that it is done, and the client does not hear it. */
  #answer(chunk: Buffer): void {
    if (this.#cutsAnswer) this.cut();
    else this.client.write(chunk);
  }
}
