import { Logger } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { printableError } from '../core/index.js';
import type { LiveEvents, OperationLine } from './contract.js';
import { problemFor, textFor } from './door.js';
import { Refusal, setHeaders } from './exchange.js';
import { asRefusal } from './failures.js';
import type { OverviewReader } from './overview.js';
import type { Rights } from './rights.js';

const STREAMS_MAX = 50;

const EVERY_MS = 2_000;

/** The largest share of one connection's time that overviews may take; a large table is read less often. */
const SHARE = 1 / 20;
const RARELY_MS = 30_000;

/** Proxies close idle connections. */
const HEARTBEAT_MS = 15_000;

/** The browser then reconnects, and `authorize` runs again. */
const STREAM_MAX_MS = 300_000;

/** Most unsent bytes for a viewer who has stopped reading. */
const BACKLOG_BYTES_MAX = 1_048_576;

type Shown = { [Event in keyof LiveEvents]: { event: Event; data: LiveEvents[Event] } }[
  | 'overview'
  | 'problem'];

const logger = new Logger('DelayQueueDashboard');

/** The live streams of this process. Viewers with the same rights share each look. */
export class LiveStreams {
  readonly #feeds = new Map<string, Feed>();
  readonly #streams = new Set<Stream>();

  constructor(
    private readonly overviews: OverviewReader,
    private readonly closing: AbortSignal,
  ) {
    closing.addEventListener('abort', () => {
      for (const stream of this.#streams) stream.end();
    });
  }

  /** Writes to the response until the viewer goes away. @throws Refusal when there are too many */
  open(response: ServerResponse, rights: Rights, gone: AbortSignal): void {
    if (this.#streams.size >= STREAMS_MAX || this.closing.aborted) {
      throw new Refusal('busy', 'Too many dashboards are open. Close one, or reload later.');
    }
    const stream = new Stream(response, rights);
    const scope = JSON.stringify([rights.names, rights.groups]);
    const feed = this.#feeds.get(scope) ?? new Feed(rights, this.overviews);
    this.#feeds.set(scope, feed);
    this.#streams.add(stream);
    gone.addEventListener('abort', () => {
      this.#streams.delete(stream);
      stream.end();
      if (feed.remove(stream)) this.#feeds.delete(scope);
    });
    feed.add(stream);
  }

  tell(line: OperationLine): void {
    for (const stream of this.#streams) stream.operation(line);
  }
}

class Stream {
  readonly #timers: NodeJS.Timeout[];

  constructor(
    private readonly response: ServerResponse,
    private readonly rights: Rights,
  ) {
    setHeaders(response, {
      'content-type': 'text/event-stream; charset=utf-8',
      // The application's compression, and some proxies, would hold events back.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    this.#timers = [
      setInterval(() => this.#write(':\n\n'), HEARTBEAT_MS).unref(),
      setTimeout(() => this.end(), STREAM_MAX_MS).unref(),
    ];
  }

  send<Event extends keyof LiveEvents>(event: Event, data: LiveEvents[Event]): void {
    const shown =
      event === 'problem' ? problemFor(this.rights, data as LiveEvents['problem']) : data;
    this.#write(`event: ${event}\ndata: ${textFor(this.rights, shown)}\n\n`);
  }

  operation(line: OperationLine): void {
    if (this.rights.ordered(line)) this.send('operation', line);
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    if (!this.response.writableEnded) this.response.end();
  }

  #write(text: string): void {
    if (this.response.writableEnded || this.response.destroyed) return;
    if (this.response.writableLength > BACKLOG_BYTES_MAX) this.response.destroy();
    else this.response.write(text);
  }
}

/** Looks on behalf of all streams of one scope, for as long as there are any. */
class Feed {
  readonly #streams = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;
  #last: Shown | undefined;
  #isLooking = false;

  constructor(
    private readonly rights: Rights,
    private readonly overviews: OverviewReader,
  ) {}

  add(stream: Stream): void {
    this.#streams.add(stream);
    if (this.#last !== undefined) stream.send(this.#last.event, this.#last.data);
    if (!this.#isLooking && this.#timer === undefined) void this.#look();
  }

  remove(stream: Stream): boolean {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return false;
    clearTimeout(this.#timer);
    return true;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const beganAtMs = performance.now();
    try {
      this.#last = { event: 'overview', data: await this.overviews.read(this.rights) };
    } catch (error) {
      const isNew = this.#last?.event !== 'problem';
      const { body } = asRefusal(error, (unexpected) => {
        if (isNew) logger.error(printableError(unexpected));
      });
      this.#last = { event: 'problem', data: body };
    }
    this.#isLooking = false;
    for (const stream of this.#streams) stream.send(this.#last.event, this.#last.data);
    if (this.#streams.size === 0) return;
    const tookMs = performance.now() - beganAtMs;
    const pauseMs = Math.min(RARELY_MS, Math.max(EVERY_MS, tookMs / SHARE));
    this.#timer = setTimeout(() => void this.#look(), pauseMs).unref();
  }
}
