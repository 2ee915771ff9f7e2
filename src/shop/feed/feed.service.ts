import {
  Injectable,
  Logger,
  ServiceUnavailableException,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Processes } from '../processes/processes.js';
import { changeBetween } from './change.js';
import type { Feed } from './feed.js';
import { FeedReader } from './feed.reader.js';
import { Watcher } from './watcher.js';

const LOOK_EVERY_MS = 250;
const HEARTBEAT_EVERY_MS = 10_000;
/** A database that takes longer is said to be away. */
const ANSWERS_WITHIN_MS = 3_000;
const TOO_SLOW = new Error(`the database has not answered for ${ANSWERS_WITHIN_MS} ms`);
const WATCHERS_MAX = 100;

/**
 * Tells everybody who watches what has changed. One look, four times a second, serves all watchers of
 * this process; it sees what every process of the shop did. While nobody watches nothing is looked up.
 */
@Injectable()
export class FeedService implements OnModuleDestroy {
  readonly #log = new Logger('Feed');
  readonly #watchers = new Set<Watcher>();
  #inTrouble = false;
  #looking: Promise<void> | undefined;
  /** What the watchers know, and by what one tells that there is nothing new. */
  #known: { feed: Feed; version: string } | undefined;

  constructor(
    private readonly reader: FeedReader,
    private readonly processes: Processes,
  ) {}

  get isLooking(): boolean {
    return this.#looking !== undefined;
  }

  /** @throws 503 when a hundred watch already */
  watch(response: ServerResponse): void {
    if (this.#watchers.size >= WATCHERS_MAX) {
      throw new ServiceUnavailableException('too many watch already');
    }
    const watcher = new Watcher(response, HEARTBEAT_EVERY_MS);
    this.#watchers.add(watcher);
    watcher.onGone(() => this.#watchers.delete(watcher));
    this.#looking ??= this.#lookWhileWatched();
  }

  /** Before the server waits for its connections to end, which these never do by themselves. */
  async onModuleDestroy(): Promise<void> {
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
    await this.#looking;
  }

  async #lookWhileWatched(): Promise<void> {
    while (this.#watchers.size > 0) {
      await this.#look();
      await pause(LOOK_EVERY_MS);
    }
    this.#known = undefined;
    this.#looking = undefined;
  }

  async #look(): Promise<void> {
    const tooLate = setTimeout(() => this.#trouble(TOO_SLOW), ANSWERS_WITHIN_MS);
    try {
      const instant = await this.reader.now();
      const version = JSON.stringify([instant.snapshot, this.processes.list()]);
      const isNew = version !== this.#known?.version || this.reader.isStale(instant.now);
      if (!isNew && ![...this.#watchers].some((watcher) => watcher.isNew)) return;
      this.#tell(await this.reader.read(instant));
      this.#known!.version = version;
      this.#inTrouble = false;
    } catch (error) {
      this.#trouble(error);
    } finally {
      clearTimeout(tooLate);
    }
  }

  #tell(feed: Feed): void {
    const change = this.#known && changeBetween(this.#known.feed, feed);
    for (const watcher of this.#watchers) {
      if (watcher.isNew) watcher.snapshot(feed);
      else if (change) watcher.change(change);
    }
    this.#known = { feed, version: '' };
  }

  /** Whoever knows that already is not told again. */
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
