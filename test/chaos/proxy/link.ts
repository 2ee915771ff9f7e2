import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** What it is like between one process and the server; its proxy changes it, every link looks at it. */
export interface Weather {
  /** From a chunk's arrival to its delivery. */
  delayMs: number;
  /** While it lasts nothing passes, in neither direction. */
  stillness: Promise<void> | undefined;
}

/** Where the next COMMIT is cut off. */
export type CutAt = 'before commit' | 'after commit';

/** As drivers send it: the last of a text, when everything before that has been answered. */
const COMMIT = Buffer.from('COMMIT\0');

/** One connection of a client, and the one to the server behind it. */
export class Link {
  readonly #server: Socket;
  #cutsAnswer = false;
  #lastAnswer: Buffer | undefined;
  /** Resolves when both sides are closed. */
  readonly closed: Promise<unknown>;

  /** @param takeCut tells once where to cut, to the first connection that asks at a COMMIT */
  constructor(
    private readonly client: Socket,
    to: { host: string; port: number },
    private readonly weather: Weather,
    private readonly takeCut: () => CutAt | undefined,
  ) {
    const server = connect({ ...to, noDelay: true, allowHalfOpen: true });
    this.#server = server;
    const closings = [client, server].map((side) => new Promise((end) => side.once('close', end)));
    this.closed = Promise.all(closings);
    this.#join(client, server, (chunk) => this.#ask(chunk));
    this.#join(server, client, (chunk) => this.#answer(chunk));
  }

  /** The client gets that instead of the next answer of the server, and then the end. */
  endWith(answer: Buffer): void {
    this.#lastAnswer = answer;
  }

  /** Both sides find their connection reset, at once and whatever the weather. */
  cut(): void {
    for (const socket of [this.client, this.#server]) reset(socket);
  }

  /**
   * What arrives from `source` goes on to `sink`, in order, when the weather lets it. The end of the
   * source is part of the order: nobody hears of it through a network that is still.
   */
  #join(source: Socket, sink: Socket, pass: (chunk: Buffer) => void): void {
    let order = Promise.resolve();
    let hasEnded = false;
    const arrive = (deliver: () => void): void => {
      const { delayMs } = this.weather;
      const delayed = delayMs > 0 ? pause(delayMs, undefined, { ref: false }) : undefined;
      order = order.then(async () => {
        await delayed;
        while (this.weather.stillness) await this.weather.stillness;
        if (!sink.destroyed) deliver();
      });
    };
    source.on('data', (chunk: Buffer) => arrive(() => pass(chunk)));
    source.on('end', () => {
      hasEnded = true;
      arrive(() => sink.end());
    });
    source.on('close', (hadError) => {
      if (hadError || !hasEnded) arrive(() => reset(sink));
    });
    // Refused, reset, broken pipe: `close` tells the other side.
    source.on('error', () => {});
  }

  #ask(chunk: Buffer): void {
    const cutAt = chunk.includes(COMMIT) ? this.takeCut() : undefined;
    this.#cutsAnswer = cutAt === 'after commit';
    if (cutAt === 'before commit') this.cut();
    else this.#server.write(chunk);
  }

  /** After a COMMIT the server has said that it is done, and the client does not hear it. */
  #answer(chunk: Buffer): void {
    if (this.#cutsAnswer) this.cut();
    else if (this.#lastAnswer === undefined) this.client.write(chunk);
    else {
      this.client.end(this.#lastAnswer);
      this.#server.destroy();
    }
  }
}

/**
 * Closes a socket so that the other side finds its connection reset. Node loses the handle of one
 * that is reset while it says its own goodbye: never closed, and the process does not end. Such a
 * socket is closed plainly; its other side expects nothing any more.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
