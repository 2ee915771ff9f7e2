import { setImmediate as turn } from 'node:timers/promises';
import { delayChannels, traced } from '../api/channels.js';
import type { Shares, SweptPage, WakeCursor } from '../store/rows/delay-rows.js';
import { RecurringTask } from '../tasks/recurring-task.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { WorkerContext } from './context.js';
import type { TimerQueue } from './timer-queue.js';
import { FullNames, SkipAhead } from './skip-ahead.js';
import { ScanSize } from './scan-size.js';
import { ScanStart } from './scan-start.js';

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

export interface ScannerParts extends Pick<
  WorkerContext,
  'nodeStore' | 'nodes' | 'options' | 'listener' | 'events' | 'idle'
> {
  queue: TimerQueue;
}

/**
 * Finds everything overdue, without the low-water mark, page by page with a cursor across
 * statements: late commits, expired leases, rows of dead nodes, the backlog at start. First the
 * node's own share; when nothing of it is left, what other nodes have left.
 */
export class Scanner extends RecurringTask {
  #pass: 'none' | 'own' | 'help' = 'none';
  #cursor: WakeCursor | null = null;
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

  constructor(private readonly parts: ScannerParts) {
    super(() => this.#traced(), new TaskHealth(parts.events, 'scan'), parts.idle);
    this.#skipAhead = new SkipAhead(parts.queue);
  }

  /**
   * Pause between passes of a node without peers, and how far ahead they look for ending leases.
   */
  get everyMs(): number {
    return Math.min(EVERY_MS_MAX, this.parts.options.leaseMs / 2);
  }

  override start(): void {
    const meetMs = this.parts.nodes.hasPeers ? NODES_MEET_MS : 0;
    this.#meeting = setTimeout(() => super.start(), meetMs);
  }

  override stop(): Promise<void> {
    clearTimeout(this.#meeting);
    return super.stop();
  }

  /** Scans everything again, now. */
  restart(): void {
    this.#begin('none');
    this.runNow();
  }

  /** There is room: continues a pass that waits for it, or begins anew after an overflow. */
  goOn(): void {
    if (this.#waitsForRoom || this.#hasOverflowed) this.runNow();
  }

  #traced(): Promise<number> {
    this.#found = 0;
    const { scan: channel } = delayChannels;
    if (!channel.hasSubscribers) return this.#sweep();
    const message = { node: this.parts.nodeStore.nodeName, count: 0 };
    const found = (): void => void (message.count = this.#found);
    return traced(channel, message, () => this.#sweep(), found);
  }

  async #sweep(): Promise<number> {
    this.#waitsForRoom = false;
    const isAnew = this.#pass === 'none' || (this.#pass === 'help' && this.#hasOverflowed);
    // Behind the cursor, leases end meanwhile and rows are committed late.
    const isOld = performance.now() - this.#passBeganAtMs >= this.everyMs;
    if (isAnew || isOld) this.#begin('own');
    while (this.#pass !== 'none' && this.parts.queue.hasRoom) {
      const waitMs = this.#pass === 'help' ? this.#helpAtMs - performance.now() : 0;
      if (waitMs > 0) return waitMs;
      const { shares } = this.parts.nodes;
      const askedAtMs = performance.now();
      const page = await this.#page(shares, this.#cursor, this.#size);
      if (page === undefined) return 0;
      // The shares changed meanwhile, so the pass has begun anew.
      if (shares !== this.parts.nodes.shares) break;
      this.#start.read(page, askedAtMs, performance.now());
      this.#found += page.wakes.length;
      // The next pass finds again what has no room.
      for (const wake of page.wakes) this.parts.queue.offer(wake, 'confirmed', this.#scanNo);
      this.#next(page);
      // The claim of these rows goes first: perhaps only one connection is open.
      await turn();
    }
    this.#waitsForRoom = this.#pass !== 'none';
    const restMs = this.parts.nodes.hasPeers
      ? Math.min(this.everyMs, PEERS_EVERY_MS)
      : this.everyMs;
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
    const { shares } = this.parts.nodes;
    const full = new FullNames(this.parts.queue);
    this.#begin('own');
    let cursor = this.#cursor;
    for (;;) {
      const wanted = this.parts.nodes.sharesOf((name) => full.roomFor(name));
      if (wanted.names.length === 0) return;
      const page = await this.#page(wanted, cursor, this.#size.largest);
      if (page === undefined) continue;
      if (shares !== this.parts.nodes.shares) return;
      for (const wake of page.wakes) this.parts.queue.offer(wake, 'confirmed', this.#scanNo);
      if (page.cursor === null) return;
      cursor = page.cursor;
    }
  }

  /** Undefined: it was too much for one statement. */
  #page(
    shares: Shares,
    cursor: WakeCursor | null,
    { scan, page: limit }: Pick<ScanSize, 'scan' | 'page'>,
  ): Promise<SweptPage | undefined> {
    return this.#size.runOrShrink(scan, () =>
      this.parts.nodeStore.sweep(shares, cursor, {
        scan,
        limit,
        helpAfterMs: this.#pass === 'help' ? HELP_AFTER_MS : null,
        aheadMs: this.everyMs,
        processLock: this.parts.listener.processLock.number,
      }),
    );
  }

  get #hasOverflowed(): boolean {
    return this.parts.queue.overflows > this.#overflowsSeen;
  }

  #next(page: SweptPage): void {
    const sawOverdue = this.#isBehindFirst || page.oldestMs !== null;
    if (page.cursor !== null) {
      this.#cursor = page.cursor;
      this.#isBehindFirst = true;
      this.#size.next(page.wakes.length);
    } else if (this.#hasOverflowed) {
      this.#begin('own');
    } else if (this.#pass === 'own' && sawOverdue && this.parts.nodes.hasPeers) {
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
      this.#overflowsSeen = this.parts.queue.overflows;
      this.#passBeganAtMs = performance.now();
    }
    // As if each row were of the name that the most nodes share.
    this.#size.begin(Math.max(...this.parts.nodes.shares.counts));
  }
}
