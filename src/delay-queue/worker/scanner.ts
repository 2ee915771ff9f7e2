import { setImmediate as turn } from 'node:timers/promises';
import { delayChannels, traced } from '../api/channels.js';
import type { DelayEvents } from '../api/events.js';
import type { Nodes } from '../cluster/nodes.js';
import type { NodeStore } from '../store/node.store.js';
import type { Cursor, SweptPage } from '../store/rows/delay-rows.js';
import { StatementSize } from '../store/statement-size.js';
import { type Idle, RecurringTask, TaskHealth } from '../tasks/recurring-task.js';
import type { TimerQueue } from './timer-queue.js';

/** Names and groups that are full during this scan: skipped until it ends. */
export class FullNames {
  readonly #names = new Set<string>();
  readonly #groups = new Map<string, Set<string>>();

  constructor(private readonly queue: Pick<TimerQueue, 'roomFor'>) {}

  /** As `TimerQueue.roomFor`, for the whole scan so far. */
  roomFor(name: string): { butNotOf: string[] } | undefined {
    const room = this.queue.roomFor(name);
    if (room === undefined) this.#names.add(name);
    if (room === undefined || this.#names.has(name)) return undefined;
    const groups = this.#groups.get(name) ?? new Set();
    for (const group of room.butNotOf) groups.add(group);
    this.#groups.set(name, groups);
    return { butNotOf: [...groups] };
  }
}

/** The pause after a skip-ahead is this many times its duration. */
const REST_FACTOR = 10;

/** The shortest pause after a skip-ahead. */
const REST_MS_MIN = 1_000;

/**
 * When to skip ahead: to fetch what lies behind a backlog, while a pass waits for room. First at
 * once, then as rarely as a pass comes, because each time may read the whole backlog. Sooner, after
 * a pause, when nearly all known entries wait for limits of their groups and some were taken since:
 * other groups could run meanwhile.
 *
 * With a thousand tenants of a hundred overdue delays each, limited to sixty a minute per tenant,
 * 1,025 delays a second run; without this, 141 (`npm run bench -- tenants`).
 */
export class SkipAhead {
  #endedAtMs = -Infinity;
  #tookMs = 0;
  /** The count of takes at its end. */
  #takes = 0;

  constructor(private readonly queue: Pick<TimerQueue, 'hasRoomBehind' | 'takes'>) {}

  /** In how many milliseconds it is due. @param everyMs pause between two passes */
  dueInMs(everyMs: number): number {
    const restMs = Math.max(REST_MS_MIN, this.#tookMs * REST_FACTOR);
    const isSoon = this.queue.hasRoomBehind && this.queue.takes > this.#takes;
    return this.#endedAtMs + (isSoon ? Math.min(restMs, everyMs) : everyMs) - performance.now();
  }

  async run(fetch: () => Promise<void>): Promise<void> {
    const beganAtMs = performance.now();
    await fetch();
    this.#endedAtMs = performance.now();
    this.#tookMs = this.#endedAtMs - beganAtMs;
    this.#takes = this.queue.takes;
  }
}

const PAGE_MAX = 2_000;

/**
 * The first page of a process is small, and each page doubles the one before: handlers begin
 * sooner, and code that V8 has not compiled yet blocks the event loop for less time.
 */
const FIRST_PAGE = 125;

/**
 * Rows that one statement examines: twice a page, or as many as it takes to fill a page with this
 * node's own. Beyond some tens of thousands the planner prefers to read and sort the whole table.
 */
const SCAN_MIN = PAGE_MAX * 2;
const SCAN_MAX = 10_000;
/** Ids are spread well, but not evenly: a tenth more than the previous page would have needed. */
const SCAN_SLACK = 1.1;

/** How many rows the statements of a scan return, and how many they examine for that. */
export class ScanSize {
  #page = FIRST_PAGE;
  #scan = SCAN_MIN;
  /** Rows that one statement can examine within its time limit. */
  readonly #most = new StatementSize(SCAN_MAX);

  get page(): number {
    return Math.min(this.#page, this.#most.now);
  }

  get scan(): number {
    return Math.min(this.#scan, this.#most.now);
  }

  /** A skip-ahead reads the largest pages. */
  get largest(): { page: number; scan: number } {
    const scan = this.#most.now;
    return { page: Math.min(PAGE_MAX, scan), scan };
  }

  /**
   * Runs a statement that examines `scan` rows. One below the limit proves nothing for larger ones.
   */
  runOrShrink<Answer>(scan: number, statement: () => Promise<Answer>): Promise<Answer | undefined> {
    return this.#most.runOrShrink(scan, statement);
  }

  /** @param looksPerRow estimate: rows to examine for each row of this node */
  begin(looksPerRow: number): void {
    this.#scan = scanFor(looksPerRow);
  }

  next(found: number): void {
    // A full page was full before it had examined that many rows.
    if (found < this.page) this.#scan = scanFor(this.#scan / Math.max(1, found));
    this.#page = Math.min(PAGE_MAX, this.#page * 2);
  }
}

const scanFor = (looksPerRow: number): number =>
  Math.ceil(Math.min(SCAN_MAX, Math.max(SCAN_MIN, PAGE_MAX * looksPerRow * SCAN_SLACK)));

/**
 * A pass over everything overdue also reads the dead rows that cannot be removed. With a snapshot
 * held for ten minutes at 2,000 delays a second these were two million: 3 s, four times a minute. A
 * pass that takes longer than this is followed by shorter ones.
 */
const QUICK_MS = 100;

/** The shorter passes go on for this many times its duration, and no longer than the maximum. */
const SLOW_START_REST_FACTOR = 50;
const REST_MS_MAX = 300_000;

/**
 * A row committed this long after its wake is still found by a pass that begins at the oldest row.
 */
const GRACE_MS = 5_000;

/**
 * Where passes begin: at the beginning of the index, or, while that would cost too much, at the
 * oldest row of an earlier pass. Older rows can only come by a commit later than their wake, or
 * with an `at` in the past.
 */
export class ScanStart {
  #oldest: Cursor | null = null;
  #allAgainAtMs = -Infinity;
  #isOfAll = true;
  #isFirstPage = true;
  #tookMs = 0;

  /** @returns where a pass begins now; null: at the beginning of the index */
  begin(nowMs: number): Cursor | null {
    this.#isOfAll = this.#oldest === null || nowMs >= this.#allAgainAtMs;
    this.#isFirstPage = true;
    this.#tookMs = 0;
    return this.#isOfAll ? null : this.#oldest;
  }

  /** A page of the pass was read, from `askedAtMs` to `nowMs` of `performance.now()`. */
  read({ cursor, oldestMs, nowMs: databaseMs }: SweptPage, askedAtMs: number, nowMs: number): void {
    this.#tookMs += nowMs - askedAtMs;
    const isWhole = this.#isFirstPage && cursor === null;
    this.#isFirstPage = false;
    // Of several pages, the last reports only the oldest row behind the others.
    if (!isWhole) {
      this.#oldest = null;
      return;
    }
    const graceMs = databaseMs - GRACE_MS;
    this.#oldest = { wakeMs: Math.min(oldestMs ?? graceMs, graceMs) - 1, id: 0 };
    if (!this.#isOfAll) return;
    const restMs = this.#tookMs <= QUICK_MS ? 0 : this.#tookMs * SLOW_START_REST_FACTOR;
    this.#allAgainAtMs = nowMs + Math.min(REST_MS_MAX, restMs);
  }
}

/** A pass comes twice in a lease, and at least this often: rows committed late wait for it. */
const EVERY_MS_MAX = 15_000;

/** With peers, at least this often: until a dead peer is noticed, only a pass finds its rows. */
const PEERS_EVERY_MS = 5_000;

/**
 * Nodes that start together discover each other one by one, and until then would all scan the same
 * rows. A node with peers waits this long before its first pass.
 */
const NODES_MEET_MS = 200;

/**
 * A row of another node's share that is overdue for this long is any node's: its owner is gone or
 * busy. In a backlog all rows are, so a node that has finished its own share first waits this long:
 * the others may be about to finish, and two nodes that claim the same rows undo each other's work.
 */
const HELP_AFTER_MS = 1_000;

/**
 * Finds everything overdue, without the low-water mark, page by page with a cursor across
 * statements: late commits, expired leases, rows of dead nodes, the backlog at start. First the
 * node's own share; when nothing of it is left, what other nodes have left.
 */
export class Scanner {
  readonly #task: RecurringTask;
  #pass: 'none' | 'own' | 'help' = 'none';
  #cursor: Cursor | null = null;
  /** Rows of this scan. */
  #found = 0;
  /** Number of the scan. All entries with one number come in the order of their wakes. */
  #scanNo = 0;
  /** When the pass began. In a backlog it waits for room, and lasts as long. */
  #passBeganAtMs = -Infinity;
  /** The first page of the pass was not its last. */
  #isBehindFirst = false;
  readonly #size = new ScanSize();
  readonly #start = new ScanStart();
  readonly #skipAhead: SkipAhead;
  #meeting: NodeJS.Timeout | undefined;
  #helpAtMs = -Infinity;
  /** The queue's overflows when the pass began: the cursor may be past entries without room. */
  #overflowsSeen = 0;
  /** A pass stopped halfway because the ready queue was full enough. */
  #waitsForRoom = false;

  constructor(
    private readonly store: NodeStore,
    private readonly nodes: Nodes,
    private readonly leaseMs: number,
    private readonly queue: TimerQueue,
    private readonly processLock: string,
    events: DelayEvents,
    idle?: Idle,
  ) {
    this.#skipAhead = new SkipAhead(queue);
    this.#task = new RecurringTask(() => this.#traced(), new TaskHealth(events, 'scan'), idle);
  }

  /**
   * Pause between passes of a node without peers, and how far ahead they look for ending leases.
   */
  get everyMs(): number {
    return Math.min(EVERY_MS_MAX, this.leaseMs / 2);
  }

  start(): void {
    const meetMs = this.nodes.hasPeers ? NODES_MEET_MS : 0;
    this.#meeting = setTimeout(() => this.#task.start(), meetMs);
  }

  stop(): Promise<void> {
    clearTimeout(this.#meeting);
    return this.#task.stop();
  }

  /** Scans everything again, now. */
  restart(): void {
    this.#begin('none');
    this.#task.runNow();
  }

  /** There is room: continues a pass that waits for it, or begins anew after an overflow. */
  goOn(): void {
    if (this.#waitsForRoom || this.#hasOverflowed) this.#task.runNow();
  }

  #traced(): Promise<number> {
    this.#found = 0;
    const { scan: channel } = delayChannels;
    if (!channel.hasSubscribers) return this.#sweep();
    const message = { node: this.store.nodeName, count: 0 };
    const found = (): void => void (message.count = this.#found);
    return traced(channel, message, () => this.#sweep(), found);
  }

  async #sweep(): Promise<number> {
    this.#waitsForRoom = false;
    const isAnew = this.#pass === 'none' || (this.#pass === 'help' && this.#hasOverflowed);
    // Behind the cursor, leases end meanwhile and rows are committed late.
    const isOld = performance.now() - this.#passBeganAtMs >= this.everyMs;
    if (isAnew || isOld) this.#begin('own');
    while (this.#pass !== 'none' && this.queue.hasRoom) {
      const waitMs = this.#pass === 'help' ? this.#helpAtMs - performance.now() : 0;
      if (waitMs > 0) return waitMs;
      const { shares } = this.nodes;
      const askedAtMs = performance.now();
      const { scan, page: limit } = this.#size;
      const page = await this.#size.runOrShrink(scan, () =>
        this.store.sweep(shares, this.#cursor, {
          scan,
          limit,
          helpAfterMs: this.#pass === 'help' ? HELP_AFTER_MS : null,
          aheadMs: this.everyMs,
          processLock: this.processLock,
        }),
      );
      if (page === undefined) return 0;
      // The shares changed meanwhile, so the pass has begun anew.
      if (shares !== this.nodes.shares) break;
      this.#start.read(page, askedAtMs, performance.now());
      this.#found += page.wakes.length;
      // The next pass finds again what has no room.
      for (const wake of page.wakes) this.queue.offer(wake, 'confirmed', this.#scanNo);
      this.#next(page);
      // The claim of these rows goes first: perhaps only one connection is open.
      await turn();
    }
    this.#waitsForRoom = this.#pass !== 'none';
    const restMs = this.nodes.hasPeers ? Math.min(this.everyMs, PEERS_EVERY_MS) : this.everyMs;
    if (!this.#waitsForRoom) return restMs;
    if (this.#skipAhead.dueInMs(this.everyMs) <= 0) {
      await this.#skipAhead.run(() => this.#fetchBehind());
      this.#begin('own');
    }
    return Math.min(restMs, Math.max(0, this.#skipAhead.dueInMs(this.everyMs)));
  }

  /**
   * Skips ahead. The backlog of one name or group fills the ready queue and the pass waits, so this
   * fetches what other names and groups have behind it. A name or group that is full stays skipped
   * to the end; otherwise its delays would run out of order. Skipped rows may lie anywhere: the
   * pass begins anew.
   */
  async #fetchBehind(): Promise<void> {
    const { shares } = this.nodes;
    const full = new FullNames(this.queue);
    this.#begin('own');
    let cursor = this.#cursor;
    for (;;) {
      const wanted = this.nodes.sharesOf((name) => full.roomFor(name));
      if (wanted.names.length === 0) return;
      const { scan, page: limit } = this.#size.largest;
      const page = await this.#size.runOrShrink(scan, () =>
        this.store.sweep(wanted, cursor, {
          scan,
          limit,
          helpAfterMs: null,
          aheadMs: this.everyMs,
          processLock: this.processLock,
        }),
      );
      if (page === undefined) continue;
      if (shares !== this.nodes.shares) return;
      for (const wake of page.wakes) this.queue.offer(wake, 'confirmed', this.#scanNo);
      if (page.cursor === null) return;
      cursor = page.cursor;
    }
  }

  get #hasOverflowed(): boolean {
    return this.queue.overflows > this.#overflowsSeen;
  }

  #next(page: SweptPage): void {
    const sawOverdue = this.#isBehindFirst || page.oldestMs !== null;
    if (page.cursor !== null) {
      this.#cursor = page.cursor;
      this.#isBehindFirst = true;
      this.#size.next(page.wakes.length);
    } else if (this.#hasOverflowed) {
      this.#begin('own');
    } else if (this.#pass === 'own' && sawOverdue && this.nodes.hasPeers) {
      this.#begin('help');
      this.#helpAtMs = performance.now() + HELP_AFTER_MS;
      this.#passBeganAtMs = this.#helpAtMs;
    } else {
      this.#begin('none');
    }
  }

  #begin(pass: 'none' | 'own' | 'help'): void {
    this.#pass = pass;
    this.#scanNo += 1;
    this.#isBehindFirst = false;
    this.#cursor = this.#start.begin(performance.now());
    if (pass === 'own') {
      this.#overflowsSeen = this.queue.overflows;
      this.#passBeganAtMs = performance.now();
    }
    // As if each row were of the name that the most nodes share.
    this.#size.begin(Math.max(...this.nodes.shares.counts));
  }
}
