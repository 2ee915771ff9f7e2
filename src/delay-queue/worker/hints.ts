import type { DelayEvents } from '../api/events.js';
import type { Hearing, HintListener } from '../cluster/listener.js';
import type { Nodes } from '../cluster/nodes.js';
import type { Hint, HintedWake, Notifier, Vacancy } from '../cluster/notifier.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { EngineConnections } from '../database/engine-connections.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { inParts, StatementSize } from '../store/statement-size.js';
import { type Idle, Paced, RecurringTask, TaskHealth } from '../tasks/recurring-task.js';
import type { Attempt } from './attempt.js';
import type { InFlight } from './claims.js';
import type { Source } from './fair-queue.js';
import type { Throttles } from './limits.js';
import type { Loader } from './loader.js';
import type { TimerQueue } from './timer-queue.js';

const BATCH_MAX = 1_000;

/** Hints that wait for a read. A load finds what comes beyond that. */
const WAITING_MAX = 10_000;

const PAUSE_MS = 10;

interface Asked {
  id: number;
  /** A node could not read its payload: any node may run it. */
  refused: boolean;
}

/**
 * Reads the rows of delays with a group: hints do not carry groups, as any login can read hints.
 */
export class HintedRows {
  readonly #size = new StatementSize(BATCH_MAX);
  readonly #health: TaskHealth;
  readonly #look: Paced;
  #waiting = new Map<number, Asked>();
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(
    private readonly store: Pick<AttemptStore, 'lookAt'>,
    private readonly queue: Pick<TimerQueue, 'offer'>,
    private readonly horizonMs: number,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'lookup');
    this.#look = new Paced(() => (this.#looking ??= this.#lookAtAll()), PAUSE_MS);
  }

  /** @returns false when there is no room for it */
  ask(id: number, refused: boolean): boolean {
    if (this.#waiting.size >= WAITING_MAX) return false;
    this.#waiting.set(id, { id, refused });
    this.#look.ask();
    return true;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#look.stop();
    await this.#looking;
  }

  async #lookAtAll(): Promise<void> {
    const asked = [...this.#waiting.values()];
    this.#waiting = new Map();
    try {
      await inParts(asked, this.#size, (some) => this.#lookAt(some), this.#health);
      this.#health.worked();
    } catch (error) {
      // A load finds them.
      this.#health.failed(error);
    }
    this.#looking = undefined;
    if (this.#waiting.size > 0) this.#look.ask();
  }

  async #lookAt(asked: readonly Asked[]): Promise<void> {
    const rows = await this.store.lookAt(asked.map(({ id }) => id));
    const refused = new Map(asked.map((each) => [each.id, each.refused]));
    for (const { id, epoch, name, group, failed, leased_by: leasedBy, ...row } of rows) {
      const { wake_ms: wakeMs, now_ms: nowMs } = row;
      if (this.#stopped || wakeMs === null || wakeMs - nowMs > this.horizonMs) continue;
      const wake = { id, epoch, name, group, wakeMs, failed, stalled: leasedBy !== null };
      this.queue.offer(refused.get(id) ? { ...wake, refused: true } : wake, 'confirmed');
    }
  }
}

const ABORTS_MAX = 1_000;

/** Poll interval while attempts run: a hint may get lost, or LISTEN may not work here. */
const LOOK_EVERY_MS = 2_000;

/** Pause between two polls that hints ask for. */
const HINTED_PAUSE_MS = 50;

/**
 * Ends the attempts of this node that a cancel asked to end. The request is a row of the table
 * `abort`, which only the application may write. A hint is not a request: any login that may
 * connect can send one, so it only brings a poll forward.
 */
export class AbortWatch {
  readonly #task: RecurringTask;
  readonly #hinted: Paced;
  readonly #size = new StatementSize(ABORTS_MAX);
  readonly #health: TaskHealth;

  constructor(
    private readonly store: Pick<AttemptStore, 'takeAborts'>,
    private readonly inFlight: InFlight,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'abort');
    this.#task = new RecurringTask(() => this.#look(), this.#health);
    this.#hinted = new Paced(() => this.#task.runNow(), HINTED_PAUSE_MS);
  }

  start(): void {
    this.#task.start(LOOK_EVERY_MS);
  }

  stop(): Promise<void> {
    this.#hinted.stop();
    return this.#task.stop();
  }

  /** A hint says that attempts of these delays are to end. */
  hinted(ids: readonly number[]): void {
    if (ids.some((id) => this.inFlight.runs(id))) this.#hinted.ask();
  }

  async #look(): Promise<number> {
    const running = this.inFlight.all().filter(({ over }) => !over);
    const take = async (some: readonly Attempt[]): Promise<void> =>
      this.inFlight.abort(await this.store.takeAborts(some));
    await inParts(running, this.#size, take, this.#health);
    return LOOK_EVERY_MS;
  }
}

/** When a write was made. */
export interface WrittenAt {
  /** On the database's clock, as `wakeMs` is. */
  databaseMs: number;
  /** `performance.now()` when its answer arrived. */
  monotonicMs: number;
}

/** Sends a committed wake where it belongs: into this node's timer queue, to its owner as a hint, or nowhere. */
export class Announcer {
  /**
   * @param limits a load finds in time what is due later than these, also on a node that is idle
   * @param worker of this node, if it runs handlers
   */
  constructor(
    private readonly nodes: Nodes,
    private readonly notifier: Notifier,
    private readonly limits: { horizonMs: number; idleForMs: number | null },
    private readonly worker: { queue: TimerQueue; idle: Idle } | undefined,
  ) {}

  /** @param written when the row was written: its transaction may have taken long to commit */
  announce(wake: Wake, written: WrittenAt, source: Source): void {
    const nowMs = written.databaseMs + performance.now() - written.monotonicMs;
    const { horizonMs, idleForMs } = this.limits;
    const inMs = wake.wakeMs - nowMs;
    this.worker?.idle.disturb();
    const isOwn = this.nodes.owns(wake.id, wake.name, wake.group);
    if (isOwn && inMs <= horizonMs) this.worker?.queue.offer(wake, source);
    // With `idleFor` also its own: if this node dies, no idle node would look.
    const isForOthers = !isOwn || idleForMs !== null;
    if (isForOthers && inMs <= Math.max(horizonMs, idleForMs ?? 0)) this.notifier.send(wake);
  }
}

/** How far the clocks of two nodes, each its own estimate of the database's, may be apart. */
const HINT_SLACK_MS = 1_000;

/** Between two loads that hints ask for. */
const LOAD_PAUSE_MS = 250;

/** Between two rounds of hinted vacancies. An attempt that ends on this node is reported at once. */
const VACANCY_PAUSE_MS = 10;

/** Names and groups of one round of vacancies. What exceeds it waits for the next look at its limit. */
const VACANCIES_MAX = 10_000;

interface HintParts {
  queue: Pick<TimerQueue, 'isOpen' | 'offer'>;
  loader: Pick<Loader, 'nodesChanged'>;
  rows: Pick<HintedRows, 'ask' | 'stop'>;
  aborts: Pick<AbortWatch, 'hinted'>;
  throttles: Pick<Throttles, 'freedElsewhere'>;
  nodes: Pick<Nodes, 'mayRun' | 'ownsHinted' | 'isShared'>;
  clock: Pick<DatabaseClock, 'nowMs'>;
  idle: Pick<Idle, 'disturb'>;
  options: { nodeName: string; horizonMs: number };
}

/**
 * Follows the hints of other nodes. Any login that may connect can send a hint, so a hint changes nothing: it
 * makes this node read rows earlier, and its cost does not grow with the number of hints.
 */
export class HintFollower {
  readonly #loads: Paced;
  readonly #vacancies: Paced;
  #vacant = new Map<string, Vacancy>();

  constructor(private readonly parts: HintParts) {
    this.#loads = new Paced(() => parts.loader.nodesChanged(), LOAD_PAUSE_MS);
    this.#vacancies = new Paced(() => this.#reportVacancies(), VACANCY_PAUSE_MS);
  }

  follow(hint: Hint): void {
    switch (hint.kind) {
      case 'wakes':
        if (!this.#offerNear(hint.wakes, false)) this.#loads.ask();
        return;
      case 'passed':
        if (!this.#offerNear(hint.wakes, true)) this.#loads.ask();
        return;
      case 'abort':
        return this.parts.aborts.hinted(hint.ids);
      case 'nodes':
        // A node receives its own hint, too, and has just read which nodes are there.
        if (hint.came !== this.parts.options.nodeName) this.#loads.ask();
        return;
      case 'vacant':
        return this.#addVacancies(hint.of);
      case 'probe':
    }
  }

  async stop(): Promise<void> {
    for (const each of [this.#loads, this.#vacancies]) each.stop();
    await this.parts.rows.stop();
  }

  /**
   * Offers what is near; a load is in time for what is due later.
   * @param isAnyones another node could not read these: any node may take them, not only their owner
   * @returns false when there was no room for all: a load finds the rest
   */
  #offerNear(wakes: readonly HintedWake[], isAnyones: boolean): boolean {
    const { queue, rows, nodes, clock, idle, options } = this.parts;
    if (!queue.isOpen) return true;
    // Also for another node's share, as that node may be idle or gone, and for what is due before the next load.
    if (wakes.some(({ name }) => nodes.mayRun(name, null))) idle.disturb();
    const nearMs = clock.nowMs() + options.horizonMs + HINT_SLACK_MS;
    let hasRoom = true;
    for (const { groupNumber: number, ...wake } of wakes) {
      const { id, name, wakeMs } = wake;
      if (wakeMs > nearMs || !nodes.mayRun(name, null)) continue;
      if (!isAnyones && !nodes.ownsHinted(id, name, number)) continue;
      const isTaken =
        number === null ? queue.offer({ ...wake, group: null }, 'hinted') : rows.ask(id, isAnyones);
      if (!isTaken) hasRoom = false;
    }
    return hasRoom;
  }

  #addVacancies(of: readonly Vacancy[]): void {
    for (const vacancy of of) {
      const { name, groupNumber } = vacancy;
      if (!this.parts.nodes.isShared(name) || this.#vacant.size >= VACANCIES_MAX) continue;
      this.#vacant.set(`${groupNumber} ${name}`, vacancy);
    }
    if (this.#vacant.size > 0) this.#vacancies.ask();
  }

  #reportVacancies(): void {
    const round = this.#vacant.values();
    this.#vacant = new Map();
    for (const { name, groupNumber } of round) {
      this.parts.throttles.freedElsewhere(name, groupNumber);
    }
  }
}

/** An attempt under limits has ended here: claims that wait for its capacity may look, here and on other nodes. */
export function reportVacancy(
  { row }: Pick<Attempt, 'row'>,
  throttles: Pick<Throttles, 'freed'>,
  nodes: Pick<Nodes, 'isShared'>,
  notifier: Pick<Notifier, 'sendVacant'>,
): void {
  const group = groupOf(row.extras);
  throttles.freed(row.name, group);
  if (nodes.isShared(row.name)) notifier.sendVacant(row.name, group);
}

const groupOf = (extras: string | null): string | null =>
  extras === null ? null : (JSON.parse(extras) as { group: string | null }).group;

/** Asks attempts to end, on whichever node they run. */
export class AbortRequests {
  readonly #health: TaskHealth;

  /** @param inFlight of this node, if it runs handlers */
  constructor(
    private readonly store: AttemptStore,
    private readonly notifier: Notifier,
    private readonly inFlight: InFlight | undefined,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'abort');
  }

  /**
   * Sends the requests to the present holders of these delays. Never in a caller's transaction, whose COMMIT would
   * be needed for them to be seen. The caller checks the result and asks again.
   */
  async send(ids: readonly number[]): Promise<void> {
    try {
      const claims = await this.store.askAborts(ids);
      this.inFlight?.abort(claims);
      await this.notifier.abort(claims.filter(({ isOwn }) => !isOwn).map(({ id }) => id));
      this.#health.worked();
    } catch (error) {
      this.#health.failed(error);
    }
  }
}

/** Loads come this often without LISTEN, as only a load finds new delays that are due soon. */
const LOAD_WITHOUT_LISTEN_MS = 1_000;

interface HearingParts {
  listener: HintListener;
  loader: Loader;
  connections: EngineConnections;
  events: DelayEvents;
  options: { loadEveryMs: number };
}

/** Adapts to whether LISTEN works, now and whenever that changes. */
export function followHearing({
  listener,
  loader,
  connections,
  events,
  options,
}: HearingParts): void {
  const follow = (hearing: Hearing): void => {
    if (hearing === 'heard') connections.prepareStatements();
    if (hearing !== 'silent') return;
    loader.loadEvery(Math.min(options.loadEveryMs, LOAD_WITHOUT_LISTEN_MS));
    events.emit('advice', {
      message:
        'LISTEN does not work on this connection (a pooler in transaction mode?); ' +
        `delays that other nodes schedule are loaded every ${LOAD_WITHOUT_LISTEN_MS} ms instead`,
    });
  };
  follow(listener.hearing);
  listener.hearingKnown.on(follow);
}
