import { setImmediate as turn } from 'node:timers/promises';
import type { DelayEvents } from '../api/events.js';
import type { Nodes } from '../cluster/nodes.js';
import type { NodeStore } from '../store/node.store.js';
import type { Cursor, SweptPage } from '../store/rows/delay-rows.js';
import { StatementSize } from '../store/statement-size.js';
import { type Idle, RecurringTask } from '../tasks/recurring-task.js';
import { Trouble } from '../tasks/trouble.js';
import type { TimerQueue } from './timer-queue.js';

/** Which names, and which groups, have had enough at any time of a walk: they get nothing more of it. */
export class Enough {
  readonly #names = new Set<string>();
  readonly #groups = new Map<string, Set<string>>();

  constructor(private readonly queue: Pick<TimerQueue, 'roomFor'>) {}

  /** As `TimerQueue.roomFor`, for all of the walk so far. */
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

/** A rest is so many times as long as what it follows took... */
const REST_FACTOR = 10;

/** ...and no shorter than this. */
const REST_MS_MIN = 1_000;

/**
 * When what lies behind a crowd is fetched, past those that a pass of the scanner waits for: at first at once, and then as seldom
 * as a pass comes, for each time may look at the whole backlog. Sooner, after a rest, where nearly all that is known waits for
 * limits of its groups and something of what was fetched has run: others would run meanwhile.
 *
 * Of a thousand tenants with a hundred overdue delays each, sixty a minute for each of them, 1,025 a second run, and 141 did.
 * `npm run bench -- tenants`.
 */
export class PassBy {
  #endedAtMs = -Infinity;
  #tookMs = 0;
  /** How often something had been taken by then. */
  #takes = 0;

  constructor(private readonly queue: Pick<TimerQueue, 'hasRoomBehind' | 'takes'>) {}

  /** In how many milliseconds it is due. @param everyMs how seldom a pass comes */
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

/** Overdue rows taken by one statement. */
const PAGE_MAX = 2_000;

/**
 * A process that has just started begins with few, and each page has twice as many as the one before: handlers begin sooner,
 * and code that V8 has not compiled yet holds up the event loop for less time.
 */
const FIRST_PAGE = 125;

/**
 * Rows one statement looks at: a little more than a page, or as many as it takes to fill one with this
 * node's own. Beyond some tens of thousands the planner prefers to read and sort the whole table.
 */
const SCAN_MIN = PAGE_MAX * 2;
const SCAN_MAX = 10_000;
/** Ids are spread well, not evenly: a tenth more than what the page before would have taken. */
const SCAN_SLACK = 1.1;

/** How many rows the statements of a sweep take, and how many they look at for that. */
export class ScanSize {
  #page = FIRST_PAGE;
  #scan = SCAN_MIN;
  /** Rows that one statement may look at within its time limit. */
  readonly #most = new StatementSize(SCAN_MAX);

  get page(): number {
    return Math.min(this.#page, this.#most.now);
  }

  get scan(): number {
    return Math.min(this.#scan, this.#most.now);
  }

  /** What lies behind a crowd is fetched in the largest pages. */
  get largest(): { page: number; scan: number } {
    const scan = this.#most.now;
    return { page: Math.min(PAGE_MAX, scan), scan };
  }

  /** Runs a statement that looks at so many. A smaller one than it may be proves nothing for larger ones. */
  runOrShrink<Answer>(scan: number, statement: () => Promise<Answer>): Promise<Answer | undefined> {
    return this.#most.runOrShrink(scan, statement);
  }

  /** @param looksPerRow rows that have to be looked at for each of this node's own, as far as is known */
  begin(looksPerRow: number): void {
    this.#scan = scanFor(looksPerRow);
  }

  /** A page has brought so many, and there are more. */
  next(found: number): void {
    // A page that is full was so before all those rows were looked at.
    if (found < this.page) this.#scan = scanFor(this.#scan / Math.max(1, found));
    this.#page = Math.min(PAGE_MAX, this.#page * 2);
  }
}

const scanFor = (looksPerRow: number): number =>
  Math.ceil(Math.min(SCAN_MAX, Math.max(SCAN_MIN, PAGE_MAX * looksPerRow * SCAN_SLACK)));

/**
 * A pass over all that is overdue walks over all that has died there and cannot be removed: while a snapshot was held for
 * ten minutes at 2,000 delays a second, that were two million rows, for 3 s four times a minute. A pass that takes
 * longer than this is followed by shorter ones...
 */
const QUICK_MS = 100;

/** ...for so many times as long, and no longer than that. */
const SLOW_START_REST_FACTOR = 50;
const REST_MS_MAX = 300_000;

/** A row may be committed this long after its wake, and still be found by a pass that begins at the oldest row. */
const GRACE_MS = 5_000;

/**
 * Where passes begin: at the beginning of all, or, as long as that would cost too much, at what was the oldest row when it was
 * looked for last. Older ones can only come by a commit later than their wake, or with an `at` in the past.
 */
export class ScanStart {
  #oldest: Cursor | null = null;
  #allAgainAtMs = -Infinity;
  #isOfAll = true;
  #isFirstPage = true;
  #tookMs = 0;

  /** @returns where a pass begins that begins now; null: at the beginning */
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
    // Of several pages the last tells what is oldest behind the others.
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

/**
 * A pass comes twice in a lease, and this often at least: a row that was committed late waits for it,
 * and that has nothing to do with how long a claim may hold.
 */
const EVERY_MS_MAX = 15_000;

/**
 * With other nodes about, a pass comes at least this often: until it is known that one of them died,
 * its rows are found by nothing else.
 */
const PEERS_EVERY_MS = 5_000;

/**
 * Nodes that start together learn of each other one by one, and until then would all sweep the same
 * rows. A node that is not alone gives the others so much time.
 */
const NODES_MEET_MS = 200;

/**
 * Overdue for so long, a row of another node's share is any node's: its owner is gone or busy. In a
 * backlog all are, so a node that has nothing left of its own gives the others that time first: they
 * may be as far, and two that claim the same rows undo each other's work.
 */
const HELP_AFTER_MS = 1_000;

/**
 * Finds everything overdue without the low-water mark, page by page with a cursor across
 * statements: late commits, expired leases, rows of dead nodes, the backlog at start. First its own
 * share; then, when nothing of it is left, what others have left lying.
 */
export class Scanner {
  readonly #task: RecurringTask;
  #pass: 'none' | 'own' | 'help' = 'none';
  #cursor: Cursor | null = null;
  /** Whatever it brings has this number: all of it comes in the order of wakes. */
  #walk = 0;
  /** When the pass began, which waits for room as long as a backlog takes. */
  #passBeganAtMs = -Infinity;
  /** Its first page was not its last. */
  #isBehindFirst = false;
  readonly #size = new ScanSize();
  readonly #start = new ScanStart();
  readonly #passBy: PassBy;
  #meeting: NodeJS.Timeout | undefined;
  #helpAtMs = -Infinity;
  /** Something overdue was left out since the pass began: where it stands, the pass may be past it. */
  #overflowsSeen = 0;
  /** A pass stopped halfway because the ready queue was full enough. */
  #waitsForRoom = false;

  /** @param leaseMs how long a claim holds */
  constructor(
    private readonly store: NodeStore,
    private readonly nodes: Nodes,
    private readonly leaseMs: number,
    private readonly queue: TimerQueue,
    private readonly processLock: string,
    events: DelayEvents,
    idle?: Idle,
  ) {
    this.#passBy = new PassBy(queue);
    this.#task = new RecurringTask(() => this.#sweep(), new Trouble(events, 'sweep'), idle);
  }

  /** Pause between passes of a node without peers, and how far ahead each looks for leases that end. */
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

  /** Looks at everything again now. */
  restart(): void {
    this.#begin('none');
    this.#task.runNow();
  }

  /** There is room: goes on with a pass that waits for it, or begins one that is due. */
  goOn(): void {
    if (this.#waitsForRoom || this.#hasOverflowed) this.#task.runNow();
  }

  async #sweep(): Promise<number> {
    this.#waitsForRoom = false;
    const isAnew = this.#pass === 'none' || (this.#pass === 'help' && this.#hasOverflowed);
    // Leases end meanwhile of what the pass is past, and rows are committed late.
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
      // Others are this node's by now: the pass has begun anew meanwhile.
      if (shares !== this.nodes.shares) break;
      this.#start.read(page, askedAtMs, performance.now());
      // One that finds no room is met again by the next pass.
      for (const wake of page.wakes) this.queue.offer(wake, 'read', this.#walk);
      this.#next(page);
      // The claim of what it brought goes first: there may be one connection only that is open.
      await turn();
    }
    this.#waitsForRoom = this.#pass !== 'none';
    const restMs = this.nodes.hasPeers ? Math.min(this.everyMs, PEERS_EVERY_MS) : this.everyMs;
    if (!this.#waitsForRoom) return restMs;
    if (this.#passBy.dueInMs(this.everyMs) <= 0) {
      await this.#passBy.run(() => this.#fetchBehind());
      this.#begin('own');
    }
    return Math.min(restMs, Math.max(0, this.#passBy.dueInMs(this.everyMs)));
  }

  /**
   * The backlog of one name, or group, fills the ready queue and the pass waits: what others have behind it is
   * fetched past it. A name or group that has enough is left alone to the end, so that nothing is left out in between. What was left
   * out may lie anywhere: the pass begins anew.
   */
  async #fetchBehind(): Promise<void> {
    const { shares } = this.nodes;
    const enough = new Enough(this.queue);
    this.#begin('own');
    let cursor = this.#cursor;
    for (;;) {
      const wanted = this.nodes.sharesOf((name) => enough.roomFor(name));
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
      for (const wake of page.wakes) this.queue.offer(wake, 'read', this.#walk);
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
    this.#walk += 1;
    this.#isBehindFirst = false;
    this.#cursor = this.#start.begin(performance.now());
    if (pass === 'own') {
      this.#overflowsSeen = this.queue.overflows;
      this.#passBeganAtMs = performance.now();
    }
    // As if all rows were of names that the most nodes share.
    this.#size.begin(Math.max(...this.nodes.shares.counts));
  }
}
