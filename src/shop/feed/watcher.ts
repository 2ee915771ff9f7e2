import type { ServerResponse } from 'node:http';
import { shownJson } from '../shown.js';
import type { Feed, FeedChange, FeedTrouble } from './feed.js';

/** Bytes that may wait to be sent to one watcher. A snapshot of a busy shop is a tenth of it. */
const WAITING_BYTES_MAX = 1_000_000;

/** How soon a browser reconnects. */
const RETRY_MS = 500;

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** A reader of the feed, with its own connection. */
export class Watcher {
  #knows: 'nothing' | 'the feed' | 'of the trouble' = 'nothing';
  readonly #heartbeats: NodeJS.Timeout;

  constructor(
    private readonly response: ServerResponse,
    heartbeatEveryMs: number,
    readonly address?: string,
  ) {
    response.writeHead(200, {
      'content-type': EVENT_STREAM,
      'cache-control': 'no-store',
      // If it were kept alive, it would keep the shop from stopping after the feed has ended.
      connection: 'close',
      // A proxy that buffers would deliver everything at once, much later.
      'x-accel-buffering': 'no',
    });
    this.#write(`retry: ${RETRY_MS}\n\n`);
    this.#heartbeats = setInterval(() => this.#write(': still here\n\n'), heartbeatEveryMs);
    this.onGone(() => clearInterval(this.#heartbeats));
  }

  /** Needs a snapshot: it has just come, or was notified of trouble. */
  get isNew(): boolean {
    return this.#knows !== 'the feed';
  }

  onGone(gone: () => void): void {
    this.response.once('close', gone);
  }

  snapshot(feed: Feed): void {
    this.#event('snapshot', feed);
    this.#knows = 'the feed';
  }

  change(change: FeedChange): void {
    this.#event('change', change);
  }

  /** Only once; a snapshot follows. */
  trouble(trouble: FeedTrouble): void {
    if (this.#knows !== 'of the trouble') this.#event('trouble', trouble);
    this.#knows = 'of the trouble';
  }

  /** A client that does not read may stay connected for long: nothing more is written to it. */
  end(): void {
    clearInterval(this.#heartbeats);
    this.response.end();
  }

  #event(event: string, data: object): void {
    this.#write(`event: ${event}\ndata: ${shownJson(data)}\n\n`);
  }

  /** A client that reads too slowly is cut off: it reconnects and gets a snapshot. */
  #write(text: string): void {
    if (this.response.destroyed || this.response.writableEnded) return;
    if (!this.response.write(text) && this.response.writableLength > WAITING_BYTES_MAX) {
      this.response.destroy();
    }
  }
}
