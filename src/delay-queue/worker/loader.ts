import { randomUUID } from 'node:crypto';
import { delayChannels, traced } from '../api/channels.js';
import type { DelayEvents } from '../api/events.js';
import { NameWatch, type Nodes } from '../cluster/nodes.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { NodeStore } from '../store/node.store.js';
import type { Cursor, LoadedPage, Shares } from '../store/rows/delay-rows.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import { StatementSize } from '../store/statement-size.js';
import { type Idle, RecurringTask } from '../tasks/recurring-task.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { TimerQueue } from './timer-queue.js';

/** Rows of one statement. Parsing more than a few thousand would block the event loop. */
const PAGE_MAX = 5_000;

/** How long after its wake a row may be committed and still be found by the next load. */
const GRACE_MS = 5_000;

const NO_SHARES: Shares = { names: [], counts: [], ranks: [], byGroup: [], leftOut: [] };

interface LoaderLimits {
  horizonMs: number;
  loadEveryMs: number;
}

/** What other nodes see of this one. */
interface Presence {
  /** The session that holds this node's presence lock. */
  readonly presentSession: object | undefined;
  /** Checks on that session, beside a load. */
  ask(): Promise<void>;
  /** Where the load was answered, that session does not hold the lock. */
  missed(session: object): void;
}

/**
 * Reads ahead the near future, with this node's heartbeat in the same statement. Reading begins at
 * the low-water mark, a little before the previous load, and so skips the head of the index with
 * the dead entries of all that fired. The scanner finds what the mark passes over.
 */
export class Loader {
  readonly #task: RecurringTask;
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

  constructor(
    private readonly store: NodeStore,
    private readonly nodes: Nodes,
    private readonly clock: DatabaseClock,
    private readonly limits: LoaderLimits,
    private readonly queue: TimerQueue,
    private readonly presence: Presence,
    private readonly idle: Idle,
    events: DelayEvents,
  ) {
    this.#loadEveryMs = limits.loadEveryMs;
    this.#nameWatch = new NameWatch(store.nodeName, this.#instance, events);
    this.#task = new RecurringTask(() => this.#traced(), new TaskHealth(events, 'load'));
  }

  /** Registers this node, reads the other nodes, and reads the clock for the first time. */
  async join(): Promise<void> {
    const { nowMs, nodes, pauses } = await this.#whoIsThere();
    this.#markMs = nowMs - GRACE_MS;
    this.nodes.update(nodes, pauses);
  }

  /** Loads more often than configured, because no hints of new delays arrive. */
  loadEvery(ms: number): void {
    this.#loadEveryMs = ms;
    this.#task.runNow();
  }

  /**
   * To be called before it joins. The node then sends heartbeats, serves no name and reads no rows.
   */
  onlyBeat(): void {
    this.#onlyBeats = true;
  }

  start(): void {
    this.#task.start();
  }

  /** The database's clock has jumped: what is due soon has changed. */
  clockJumped(): void {
    this.#task.runNow();
  }

  /** Loads now, with its present share: a node came or left, or something was paused or resumed. */
  nodesChanged(): void {
    this.idle.disturb();
    this.#asksWhoIsThere = true;
    this.#task.runNow();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  /** How often it loads now, and its last loads: see `RecurringTask.last`. */
  get loads(): { everyMs: number; workedAtMs: number; endedAtMs: number } {
    return { everyMs: this.#loadEveryMs, ...this.#task.last };
  }

  #traced(): Promise<number> {
    this.#found = 0;
    const { load: channel } = delayChannels;
    if (!channel.hasSubscribers) return this.#load();
    const message = { node: this.store.nodeName, count: 0 };
    const found = (): void => void (message.count = this.#found);
    return traced(channel, message, () => this.#load(), found);
  }

  async #load(): Promise<number> {
    this.#isAsleep = false;
    this.idle.end();
    void this.presence.ask();
    if (this.#asksWhoIsThere) {
      this.#asksWhoIsThere = false;
      const { nodes, pauses } = await this.#whoIsThere();
      this.nodes.update(nodes, pauses);
    }
    let from: Cursor = { wakeMs: this.#markMs, id: 0 };
    let nextMarkMs: number | undefined;
    let pauseEndsInMs = Infinity;
    for (;;) {
      const limit = this.#size.now;
      const page = await this.#size.runOrShrink(limit, () => this.#page(from, limit));
      if (page === undefined) return 0;
      nextMarkMs ??= page.nowMs - GRACE_MS;
      // Read with the old shares: reads again, with the new ones.
      if (this.nodes.update(page.nodes, page.pauses)) return 0;
      this.#found += page.wakes.length;
      pauseEndsInMs = firstEnd(page);
      const room = page.wakes.every((wake) => this.queue.offer(wake, 'confirmed'));
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
    const { idle, queue } = this;
    if (idle.forMs === null || idle.calmForMs < this.#loadEveryMs || !queue.isIdle)
      return undefined;
    const askedAtMs = performance.now();
    const idleMs = await this.store.idle(this.nodes.shares, {
      forMs: Math.min(idle.forMs, pauseEndsInMs),
      horizonMs: this.limits.horizonMs,
    });
    const tookMs = performance.now() - askedAtMs;
    if (idleMs === null || idle.calmForMs < tookMs || !queue.isIdle) return undefined;
    idle.begin();
    this.#isAsleep = true;
    void idle.over.next.then(() => {
      if (this.#isAsleep) this.#task.runNow();
    });
    // Part of that time has passed; all of it if the process was paused meanwhile.
    return Math.max(0, idleMs - tookMs);
  }

  /** The other nodes, with this one registered: a page without rows. */
  #whoIsThere(): Promise<LoadedPage> {
    return this.#page({ wakeMs: this.#markMs, id: 0 }, 0);
  }

  async #page(from: Cursor, limit: number): Promise<LoadedPage> {
    const askedAtMs = performance.now();
    const session = this.presence.presentSession;
    const page = await this.store.load(this.#onlyBeats ? NO_SHARES : this.nodes.shares, from, {
      horizonMs: this.limits.horizonMs,
      limit: this.#onlyBeats ? 0 : limit,
      peersWithinMs: this.limits.loadEveryMs * LOADS_MISSED_MAX,
      isPresent: session !== undefined,
      instance: this.#instance,
    });
    this.#nameWatch.beat(page.lastInstance);
    if (session !== undefined && page.isHeld === false) this.presence.missed(session);
    this.clock.sample(askedAtMs, performance.now(), page.nowMs, page.laterMs);
    return page;
  }
}

/** In how many milliseconds the first pause ends; Infinity: none does. */
const firstEnd = ({ pauses, nowMs }: LoadedPage): number =>
  Math.max(0, Math.min(...pauses.map(([, , untilMs]) => untilMs ?? Infinity)) - nowMs);
