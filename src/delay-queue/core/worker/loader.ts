import { randomUUID } from 'node:crypto';
import { delayChannels, traced } from '../api/channels.js';
import { NameWatch } from '../cluster/name-watch.js';
import type { WakeCursor, LoadedPage, Shares } from '../store/rows/delay-rows.js';
import { StatementSize } from '../store/statement-size.js';
import { RecurringTask } from '../tasks/recurring-task.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { WorkerContext } from './context.js';
import type { TimerQueue } from './timer-queue.js';

/** Rows of one statement. Parsing more than a few thousand would block the event loop. */
const PAGE_MAX = 5_000;

/** How long after its wake a row may be committed and still be found by the next load. */
const GRACE_MS = 5_000;

const NO_SHARES: Shares = { names: [], counts: [], ranks: [], byGroup: [], leftOut: [] };

export interface LoaderParts extends Pick<
  WorkerContext,
  'nodeStore' | 'nodes' | 'clock' | 'options' | 'aliveMs' | 'listener' | 'idle' | 'events'
> {
  queue: TimerQueue;
}

/**
 * Reads ahead the near future, with this node's heartbeat in the same statement. Reading begins at
 * the low-water mark, a little before the previous load, and so skips the head of the index with
 * the dead entries of all that fired. The scanner finds what the mark passes over.
 */
export class Loader extends RecurringTask {
  /** Tells this process from all others, whatever their node names. */
  readonly #instance = randomUUID();
  readonly #nameWatch: NameWatch;
  #loadEveryMs: number;
  readonly #size = new StatementSize(PAGE_MAX);
  #onlyBeats = false;
  /** Rows of this load. */
  #found = 0;
  #markMs = 0;
  /** A hint says that a node came or left: the nodes are read before any rows. */
  #asksWhoIsThere = false;
  /** Until the next load, which is far away unless something comes up. */
  #isAsleep = false;

  constructor(private readonly parts: LoaderParts) {
    super(() => this.#traced(), new TaskHealth(parts.events, 'load'));
    this.#loadEveryMs = parts.options.loadEveryMs;
    this.#nameWatch = new NameWatch(parts.nodeStore.nodeName, this.#instance, parts.events);
  }

  /** Registers this node, reads the other nodes, and reads the clock for the first time. */
  async join(): Promise<void> {
    const { nowMs, nodes, pauses } = await this.#whoIsThere();
    this.#markMs = nowMs - GRACE_MS;
    this.parts.nodes.update(nodes, pauses);
  }

  /** Loads more often than configured, because no hints of new delays arrive. */
  loadEvery(ms: number): void {
    this.#loadEveryMs = ms;
    this.runNow();
  }

  /**
   * To be called before it joins. The node then sends heartbeats, serves no name and reads no rows.
   */
  onlyBeat(): void {
    this.#onlyBeats = true;
  }

  /** Loads now, with its present share: a node came or left, or something was paused or resumed. */
  nodesChanged(): void {
    this.parts.idle.disturb();
    this.#asksWhoIsThere = true;
    this.runNow();
  }

  /** How often it loads now, and its last loads: see `RecurringTask.last`. */
  get loads(): { everyMs: number; workedAtMs: number; endedAtMs: number } {
    return { everyMs: this.#loadEveryMs, ...this.last };
  }

  #traced(): Promise<number> {
    this.#found = 0;
    const { load: channel } = delayChannels;
    if (!channel.hasSubscribers) return this.#load();
    const message = { node: this.parts.nodeStore.nodeName, count: 0 };
    const found = (): void => void (message.count = this.#found);
    return traced(channel, message, () => this.#load(), found);
  }

  async #load(): Promise<number> {
    this.#isAsleep = false;
    this.parts.idle.end();
    void this.parts.listener.ask();
    if (this.#asksWhoIsThere) {
      this.#asksWhoIsThere = false;
      const { nodes, pauses } = await this.#whoIsThere();
      this.parts.nodes.update(nodes, pauses);
    }
    let from: WakeCursor = { wakeMs: this.#markMs, id: 0 };
    let nextMarkMs: number | undefined;
    let pauseEndsInMs = Infinity;
    for (;;) {
      const limit = this.#size.now;
      const page = await this.#size.runOrShrink(limit, () => this.#page(from, limit));
      if (page === undefined) return 0;
      nextMarkMs ??= page.nowMs - GRACE_MS;
      // Read with the old shares: reads again, with the new ones.
      if (this.parts.nodes.update(page.nodes, page.pauses)) return 0;
      this.#found += page.wakes.length;
      pauseEndsInMs = firstEnd(page);
      const room = page.wakes.every((wake) => this.parts.queue.offer(wake, 'confirmed'));
      if (!room || page.cursor === null || page.wakes.length < limit) break;
      from = page.cursor;
    }
    this.#markMs = nextMarkMs;
    const idleMs = await this.#goIdle(pauseEndsInMs);
    return idleMs ?? Math.min(this.#loadEveryMs, pauseEndsInMs);
  }

  /**
   * If nothing has come up since the last load, finds out for how long no node has anything to do.
   * @returns undefined: there is something to do, or may be
   */
  async #goIdle(pauseEndsInMs: number): Promise<number | undefined> {
    const { idle, queue } = this.parts;
    if (idle.forMs === null || idle.calmForMs < this.#loadEveryMs || !queue.isIdle)
      return undefined;
    const askedAtMs = performance.now();
    const idleMs = await this.parts.nodeStore.idle(this.parts.nodes.shares, {
      forMs: Math.min(idle.forMs, pauseEndsInMs),
      horizonMs: this.parts.options.horizonMs,
    });
    const tookMs = performance.now() - askedAtMs;
    if (idleMs === null || idle.calmForMs < tookMs || !queue.isIdle) return undefined;
    idle.isOn = true;
    this.#isAsleep = true;
    void idle.over.next.then(() => {
      if (this.#isAsleep) this.runNow();
    });
    // Part of that time has passed; all of it if the process was paused meanwhile.
    return Math.max(0, idleMs - tookMs);
  }

  /** The other nodes, with this one registered: a page without rows. */
  #whoIsThere(): Promise<LoadedPage> {
    return this.#page({ wakeMs: this.#markMs, id: 0 }, 0);
  }

  async #page(from: WakeCursor, limit: number): Promise<LoadedPage> {
    const askedAtMs = performance.now();
    const session = this.parts.listener.presentSession;
    const page = await this.parts.nodeStore.load(
      this.#onlyBeats ? NO_SHARES : this.parts.nodes.shares,
      from,
      {
        horizonMs: this.parts.options.horizonMs,
        limit: this.#onlyBeats ? 0 : limit,
        peersWithinMs: this.parts.aliveMs,
        isPresent: session !== undefined,
        instance: this.#instance,
      },
    );
    this.#nameWatch.beat(page.lastInstance);
    if (session !== undefined && page.isHeld === false) this.parts.listener.missed(session);
    this.parts.clock.sample(askedAtMs, performance.now(), page.nowMs, page.laterMs);
    return page;
  }
}

/** In how many milliseconds the first pause ends; Infinity: none does. */
const firstEnd = ({ pauses, nowMs }: LoadedPage): number =>
  Math.max(0, Math.min(...pauses.map(([, , untilMs]) => untilMs ?? Infinity)) - nowMs);
