import {
  Injectable,
  Logger,
  ServiceUnavailableException,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { pauseAfter, type Pace } from '../pace.js';
import { Processes } from '../processes/processes.js';
import { changeBetween } from './change.js';
import type { Feed } from './feed.js';
import { FeedReader, type Instant } from './feed.reader.js';
import { Watcher } from './watcher.js';

/**
 * Four polls a second while they are quick, and a fifth of the time while each takes up to 2.5 s.
 */
const PACE: Pace = { share: 1 / 5, leastPauseMs: 250, mostPauseMs: 10_000 };
const HEARTBEAT_EVERY_MS = 10_000;
/** A slower database is reported as away. */
const ANSWERS_WITHIN_MS = 3_000;
const TOO_SLOW = new Error(`the database has not answered for ${ANSWERS_WITHIN_MS} ms`);
const WATCHERS_MAX = 100;
/** Per address: one visitor must not take the slots of all others. */
const WATCHERS_OF_ADDRESS_MAX = 50;

/**
 * Sends every watcher what has changed. One poll, up to four times a second, serves all watchers of
 * this process; it sees what every process of the shop did. Without watchers nothing is read.
 */
@Injectable()
export class FeedService implements OnModuleDestroy {
  readonly #log = new Logger('Feed');
  readonly #watchers = new Set<Watcher>();
  readonly #ended = new AbortController();
  #inTrouble = false;
  #looking: Promise<void> | undefined;
  /** What the watchers have, and the version by which a poll sees that nothing is new. */
  #known: { feed: Feed; version: string } | undefined;

  constructor(
    private readonly reader: FeedReader,
    private readonly processes: Processes,
  ) {}

  get isLooking(): boolean {
    return this.#looking !== undefined;
  }

  /** @throws 503 when a hundred watch already, or fifty from that address */
  watch(response: ServerResponse): void {
    const address = response.req.socket.remoteAddress;
    const isFull = this.#watchers.size >= WATCHERS_MAX;
    if (isFull || this.#watchersOf(address) >= WATCHERS_OF_ADDRESS_MAX) {
      throw new ServiceUnavailableException('too many watch already');
    }
    const watcher = new Watcher(response, HEARTBEAT_EVERY_MS, address);
    // A page whose feed has ended reconnects at once, while this process still finishes its work.
    if (this.#ended.signal.aborted) return watcher.end();
    this.#watchers.add(watcher);
    watcher.onGone(() => this.#watchers.delete(watcher));
    this.#looking ??= this.#lookWhileWatched();
  }

  /** Before the server waits for its connections to end: these would never end. */
  async onModuleDestroy(): Promise<void> {
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
    this.#ended.abort();
    await this.#looking;
  }

  #watchersOf(address: string | undefined): number {
    return [...this.#watchers].filter((watcher) => watcher.address === address).length;
  }

  async #lookWhileWatched(): Promise<void> {
    while (this.#watchers.size > 0) {
      const tookMs = await this.#look();
      await pause(pauseAfter(tookMs, PACE), undefined, { signal: this.#ended.signal }).catch(
        () => {},
      );
    }
    this.#known = undefined;
    this.#looking = undefined;
  }

  /** @returns how long it took; 0 when there was nothing to read */
  async #look(): Promise<number> {
    const begunMs = performance.now();
    const tooLate = setTimeout(() => this.#trouble(TOO_SLOW), ANSWERS_WITHIN_MS);
    try {
      const instant = await this.reader.now();
      const version = this.reader.versionAt(instant);
      if (version !== this.#known?.version) await this.#learn(instant, version);
      else this.#welcome({ ...this.#known.feed, serverNow: instant.now.toISOString() });
      this.#inTrouble = false;
      return performance.now() - begunMs;
    } catch (error) {
      this.#trouble(error);
      return 0;
    } finally {
      clearTimeout(tooLate);
    }
  }

  async #learn(instant: Instant, version: string): Promise<void> {
    const feed = await this.reader.read(instant);
    const change = this.#known && changeBetween(this.#known.feed, feed);
    this.#known = { feed, version };
    for (const watcher of this.#watchers) if (change && !watcher.isNew) watcher.change(change);
    this.#welcome(feed);
  }

  #welcome(feed: Feed): void {
    for (const watcher of this.#watchers) if (watcher.isNew) watcher.snapshot(feed);
  }

  /** Watchers that were notified already get nothing. */
  #trouble(error: unknown): void {
    if (!this.#inTrouble) this.#log.warn(`nothing can be looked up: ${messageOf(error)}`);
    this.#inTrouble = true;
    for (const watcher of this.#watchers) {
      watcher.trouble({ servedBy: this.processes.self, trouble: 'database' });
    }
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
