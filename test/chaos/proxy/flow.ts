import type { Socket } from 'node:net';

/** What it is like between one process and the server; its proxy changes it, every flow looks at it. */
export interface Weather {
  /** From a chunk's arrival to its delivery. */
  delayMs: number;
  /** Nothing passes, in neither direction. */
  isStill: boolean;
}

/**
 * One direction of a connection: what arrives from `source` goes on to `sink`, in order, when the
 * weather lets it. The end of the source is part of the order: nobody hears of it through a network
 * that is still.
 */
export class Flow {
  readonly #waiting: { atMs: number; deliver: () => void }[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param pass hands a chunk on to the sink when its time has come */
  constructor(
    source: Socket,
    private readonly sink: Socket,
    private readonly weather: Weather,
    pass: (chunk: Buffer) => void,
  ) {
    let hasEnded = false;
    source.on('data', (chunk: Buffer) => this.#arrive(() => pass(chunk)));
    source.on('end', () => {
      hasEnded = true;
      this.#arrive(() => sink.end());
    });
    source.on('close', (hadError) => {
      if (hadError || !hasEnded) this.#arrive(() => reset(sink));
    });
    // Refused, reset, broken pipe: `close` tells the other side.
    source.on('error', () => {});
    sink.on('close', () => this.drop());
  }

  /** Hands on what may go now; whoever changes the weather calls it. */
  pump(): void {
    clearTimeout(this.#timer);
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.weather.isStill) return;
      const waitMs = next.atMs + this.weather.delayMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      this.#waiting.shift();
      next.deliver();
    }
  }

  /** Forgets what has not gone on yet. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
  }

  #arrive(deliver: () => void): void {
    if (this.sink.destroyed) return;
    this.#waiting.push({ atMs: performance.now(), deliver });
    this.pump();
  }
}

/**
 * Closes a socket so that the other side finds its connection reset. Node loses the handle of one
 * that is reset while it says its own goodbye: never closed, and the process does not end. Such a
 * socket is closed plainly; its other side expects nothing any more.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
