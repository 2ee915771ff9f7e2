import type { ServerResponse } from 'node:http';
import type { LiveEvents, OperationLine } from './contract.js';
import { problemFor, textFor } from './door.js';
import { Refusal, setHeaders } from './exchange.js';
import type { OperationNews } from './operation-news.js';
import type { Rights } from './rights.js';

const STREAMS_MAX = 50;

const EVERY_MS = 2_000;

/** Of the time of one connection, the share that overviews take at most: a large table is read more rarely. */
const SHARE = 1 / 20;
const RARELY_MS = 30_000;

/** Proxies end connections on which nothing comes. */
const HEARTBEAT_MS = 15_000;

/** Then the browser asks again, and its rights are asked for again. */
const STREAM_MAX_MS = 300_000;

/** Unsent bytes of a viewer who does not read. */
const BACKLOG_BYTES_MAX = 1_048_576;

type Overview = LiveEvents['overview'];

/** What a stream needs of the rest. */
interface Sources {
  overview: (rights: Rights) => Promise<Overview>;
  /** @param isNew whether the look before it went well: then it is reported */
  problemOf: (error: unknown, isNew: boolean) => LiveEvents['problem'];
  news: OperationNews;
  closing: AbortSignal;
}

/** The live streams of this process. Those of viewers who see the same share each look. */
export class LiveStreams {
  readonly #feeds = new Map<string, Feed>();
  readonly #streams = new Set<Stream>();

  constructor(private readonly sources: Sources) {
    sources.news.on((line) => {
      for (const stream of this.#streams) stream.operation(line);
    });
    sources.closing.addEventListener('abort', () => {
      for (const stream of this.#streams) stream.end();
    });
  }

  /** Writes to the response until the viewer goes away. @throws Refusal when there are too many */
  open(response: ServerResponse, rights: Rights, gone: AbortSignal): void {
    if (this.#streams.size >= STREAMS_MAX || this.sources.closing.aborted) {
      throw new Refusal('busy', 'Too many dashboards are open. Close one, or reload later.');
    }
    const stream = new Stream(response, rights);
    const scope = JSON.stringify([rights.names, rights.groups]);
    const feed = this.#feeds.get(scope) ?? new Feed(rights, this.sources);
    this.#feeds.set(scope, feed);
    this.#streams.add(stream);
    gone.addEventListener('abort', () => {
      this.#streams.delete(stream);
      stream.end();
      if (feed.remove(stream)) this.#feeds.delete(scope);
    });
    feed.add(stream);
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
      // A compressor of the application's would keep events back, and some proxies as well.
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

/** Looks for all streams of one scope, while there is any. */
class Feed {
  readonly #streams = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;
  #last:
    | { event: 'overview'; data: Overview }
    | { event: 'problem'; data: LiveEvents['problem'] }
    | undefined;
  #isLooking = false;

  constructor(
    private readonly rights: Rights,
    private readonly sources: Sources,
  ) {}

  add(stream: Stream): void {
    this.#streams.add(stream);
    if (this.#last !== undefined) stream.send(this.#last.event, this.#last.data);
    if (!this.#isLooking && this.#timer === undefined) void this.#look();
  }

  /** @returns whether it was the last one */
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
      this.#last = { event: 'overview', data: await this.sources.overview(this.rights) };
    } catch (error) {
      this.#last = {
        event: 'problem',
        data: this.sources.problemOf(error, this.#last?.event !== 'problem'),
      };
    }
    this.#isLooking = false;
    for (const stream of this.#streams) stream.send(this.#last.event, this.#last.data);
    if (this.#streams.size === 0) return;
    const tookMs = performance.now() - beganAtMs;
    const pauseMs = Math.min(RARELY_MS, Math.max(EVERY_MS, tookMs / SHARE));
    this.#timer = setTimeout(() => void this.#look(), pauseMs).unref();
  }
}
