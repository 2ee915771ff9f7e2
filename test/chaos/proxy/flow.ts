import type { Socket } from 'node:net';
import type { Passed } from './commit-watch.js';
import { reset } from './reset.js';
import type { Weather } from './weather.js';

/** What waits in a flow: bytes, or how the source ended. */
type Waiting = { atMs: number } & ({ chunk: Buffer } | { end: 'finished' | 'reset' });

/** Beyond this the source is not read: its own side then feels that nothing goes on. */
const WAITING_BYTES_MAX = 1_048_576;

/**
 * One direction of a connection: what arrives from `source` goes on to `sink`, in order, when the
 * weather lets it. The end of the source is part of the order: nobody hears of it through a network
 * that is still.
 */
export class Flow {
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /**
   * @param look sees each chunk just before it goes on
   * @param cut called when `look` wants the connection to end there
   */
  constructor(
    private readonly source: Socket,
    private readonly sink: Socket,
    private readonly weather: Weather,
    private readonly look: (chunk: Buffer) => Passed,
    private readonly cut: () => void,
  ) {
    source.on('data', (chunk: Buffer) => this.#arrive({ chunk, atMs: performance.now() }));
    source.on('end', () => this.#end('finished'));
    source.on('close', (hadError) => {
      if (hadError || !this.#hasEnded) this.#end('reset');
    });
    sink.on('drain', () => this.pump());
    sink.on('close', () => this.drop());
  }

  /** Hands on what may go now; whoever changes the weather calls it. */
  pump(): void {
    clearTimeout(this.#timer);
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.weather.isStill || this.sink.writableNeedDrain) return;
      const waitMs = next.atMs + this.weather.delayMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      this.#waiting.shift();
      this.#deliver(next);
    }
  }

  /** Forgets what has not gone on yet. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  #arrive(what: Waiting): void {
    if (this.sink.destroyed) return;
    this.#waiting.push(what);
    if ('chunk' in what) this.#waitingBytes += what.chunk.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.source.pause();
    this.pump();
  }

  #end(end: 'finished' | 'reset'): void {
    this.#hasEnded = true;
    this.#arrive({ end, atMs: performance.now() });
  }

  #deliver(what: Waiting): void {
    if ('end' in what) {
      if (what.end === 'reset') reset(this.sink);
      else this.sink.end();
      return;
    }
    this.#waitingBytes -= what.chunk.length;
    if (this.source.isPaused() && this.#waitingBytes <= WAITING_BYTES_MAX) this.source.resume();
    const { chunk, cut } = this.look(what.chunk);
    if (chunk.length > 0) this.sink.write(chunk);
    if (cut) this.cut();
  }
}
