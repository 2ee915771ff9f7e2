import { setImmediate as turn } from 'node:timers/promises';
import type { DelayEvents } from '../../delay/delay.events.js';
import type { NodeStore } from '../../store/node.store.js';
import type { Cursor, SweptPage } from '../../store/wire/wakes.js';
import { RecurringTask } from '../../tasks/recurring-task.js';
import type { Idle } from '../../tasks/idle.js';
import type { Nodes } from '../../cluster/nodes.js';
import { Trouble } from '../../tasks/trouble.js';
import type { Intake } from '../intake.js';
import { Enough } from './enough.js';
import { PassBy } from './pass-by.js';
import { SweepSize } from './sweep-size.js';
import { SweepStart } from './sweep-start.js';

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
export class Sweeper {
  readonly #task: RecurringTask;
  #pass: 'none' | 'own' | 'help' = 'none';
  #cursor: Cursor | null = null;
  /** Whatever it brings has this number: all of it comes in the order of wakes. */
  #walk = 0;
  /** When the pass began, which waits for room as long as a backlog takes. */
  #passBeganAtMs = -Infinity;
  /** Its first page was not its last. */
  #isBehindFirst = false;
  readonly #size = new SweepSize();
  readonly #start = new SweepStart();
  readonly #passBy: PassBy;
  #meeting: NodeJS.Timeout | undefined;
  #helpAtMs = -Infinity;
  /** Something overdue was left out since the pass began: where it stands, the pass may be past it. */
  #hasOverflowed = false;
  /** A pass stopped halfway because the ready queue was full enough. */
  #waitsForRoom = false;

  /** @param leaseMs how long a claim holds */
  constructor(
    private readonly store: NodeStore,
    private readonly nodes: Nodes,
    private readonly leaseMs: number,
    private readonly intake: Intake,
    private readonly processLock: string,
    events: DelayEvents,
    idle?: Idle,
  ) {
    this.#passBy = new PassBy(intake);
    this.#task = new RecurringTask(() => this.#sweep(), new Trouble(events, 'sweep'), idle);
    nodes.changed.on(() => this.#restart());
    intake.room.on(() => this.#goOn());
    // What is due and found no room is looked for as soon as there is some.
    intake.overflow.on(() => {
      this.#hasOverflowed = true;
    });
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
  #restart(): void {
    this.#begin('none');
    this.#task.runNow();
  }

  /** There is room: goes on with a pass that waits for it, or begins one that is due. */
  #goOn(): void {
    if (this.#waitsForRoom || this.#hasOverflowed) this.#task.runNow();
  }

  async #sweep(): Promise<number> {
    this.#waitsForRoom = false;
    const isAnew = this.#pass === 'none' || (this.#pass === 'help' && this.#hasOverflowed);
    // Leases end meanwhile of what the pass is past, and rows are committed late.
    const isOld = performance.now() - this.#passBeganAtMs >= this.everyMs;
    if (isAnew || isOld) this.#begin('own');
    while (this.#pass !== 'none' && this.intake.hasRoom) {
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
      for (const wake of page.wakes) this.intake.offer(wake, 'read', this.#walk);
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
    const enough = new Enough(this.intake);
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
      for (const wake of page.wakes) this.intake.offer(wake, 'read', this.#walk);
      if (page.cursor === null) return;
      cursor = page.cursor;
    }
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
      this.#hasOverflowed = false;
      this.#passBeganAtMs = performance.now();
    }
    // As if all rows were of names that the most nodes share.
    this.#size.begin(Math.max(...this.nodes.shares.counts));
  }
}
