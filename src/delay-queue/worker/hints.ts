import type { DelayEvents } from '../api/events.js';
import type { Hint, HintedWake, Vacancy } from '../cluster/hint.js';
import type { HintListener } from '../cluster/listener.js';
import type { Nodes } from '../cluster/nodes.js';
import type { Notifier } from '../cluster/notifier.js';
import type { Hearing } from '../cluster/session-probe.js';
import type { DatabaseClock } from '../database/database-clock.js';
import type { EngineConnections } from '../database/engine-connections.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { type Idle, Paced } from '../tasks/recurring-task.js';
import type { Signal } from '../tasks/signal.js';
import { Trouble } from '../tasks/trouble.js';
import type { AbortWatch } from './abort-watch.js';
import type { HeldClaim, InFlight } from './claims.js';
import type { Source } from './entry.js';
import type { HintedRows } from './hinted-rows.js';
import type { Intake } from './intake.js';
import type { Throttles } from './limits.js';
import type { Loader } from './loader.js';

/** When a write was made. */
export interface WrittenAt {
  /** On the database's clock, as `wakeMs` is. */
  databaseMs: number;
  /** `performance.now()` when its answer was there. */
  monotonicMs: number;
}

/** Where a committed write goes: into this node's wheel, to its owner as a hint, or nowhere. */
export class Announcer {
  /**
   * @param limits what is due later is found by a load in time, also by one of a node that is idle
   * @param worker of this node, if it runs handlers
   */
  constructor(
    private readonly nodes: Nodes,
    private readonly notifier: Notifier,
    private readonly limits: { horizonMs: number; idleForMs: number | null },
    private readonly worker: { intake: Intake; idle: Idle } | undefined,
  ) {}

  /** @param written when it was written; the transaction may have taken its time since */
  announce(wake: Wake, written: WrittenAt, source: Source): void {
    const nowMs = written.databaseMs + performance.now() - written.monotonicMs;
    const { horizonMs, idleForMs } = this.limits;
    const inMs = wake.wakeMs - nowMs;
    this.worker?.idle.disturb();
    const isOwn = this.nodes.owns(wake.id, wake.name, wake.group);
    if (isOwn && inMs <= horizonMs) this.worker?.intake.offer(wake, source);
    // With `idleFor` its own, too: this node may die, and no other would look while it is idle.
    const isForOthers = !isOwn || idleForMs !== null;
    if (isForOthers && inMs <= Math.max(horizonMs, idleForMs ?? 0)) this.notifier.send(wake);
  }
}

/** How far the clocks of two nodes, each its own estimate of the database's, may be apart. */
const HINT_SLACK_MS = 1_000;

/** Between two loads that hints ask for. */
const LOAD_PAUSE_MS = 250;

interface Parts {
  intake: Intake;
  loader: Loader;
  rows: HintedRows;
  aborts: AbortWatch;
  nodes: Nodes;
  clock: DatabaseClock;
  idle: Idle;
  options: { nodeName: string; horizonMs: number };
}

/**
 * From now on this node does what the hints of others ask for: it looks. A hint may be anyone's, so it changes nothing by
 * itself, and what it costs does not grow with how many come.
 */
export function takeHints(hints: Signal<Hint>, parts: Parts): Paced {
  const loads = new Paced(() => parts.loader.nodesChanged(), LOAD_PAUSE_MS);
  hints.on((hint) => {
    if (hint.kind === 'wakes' && !offerNear(hint.wakes, parts, false)) loads.ask();
    if (hint.kind === 'passed' && !offerNear(hint.wakes, parts, true)) loads.ask();
    if (hint.kind === 'abort') parts.aborts.hinted(hint.ids);
    // A node hears of itself, too, and knows who was there when it came.
    if (hint.kind === 'nodes' && hint.came !== parts.options.nodeName) loads.ask();
  });
  return loads;
}

/**
 * What is due later is not kept: a load is in time for that.
 * @param isAnyones another node could not read them: they are for all nodes, not only for their owner
 * @returns false when there was no room for all of them, which a load then finds
 */
function offerNear(
  wakes: readonly HintedWake[],
  { intake, rows, nodes, clock, idle, options }: Parts,
  isAnyones: boolean,
): boolean {
  if (!intake.isOpen) return true;
  // Also of another node's share, which may be idle, or gone; and what is due later may be due before the next look.
  if (wakes.some(({ name }) => nodes.mayRun(name, null))) idle.disturb();
  const nearMs = clock.nowMs() + options.horizonMs + HINT_SLACK_MS;
  let hasRoom = true;
  for (const { groupNumber: number, ...wake } of wakes) {
    const { id, name, wakeMs } = wake;
    if (wakeMs > nearMs || !nodes.mayRun(name, null)) continue;
    if (!isAnyones && !nodes.ownsHinted(id, name, number)) continue;
    const isTaken =
      number === null ? intake.offer({ ...wake, group: null }, 'told') : rows.ask(id, isAnyones);
    if (!isTaken) hasRoom = false;
  }
  return hasRoom;
}

/** Asks attempts to end, wherever they run. */
export class AbortRequests {
  readonly #trouble: Trouble;

  /** @param inFlight of this node, if it runs handlers */
  constructor(
    private readonly store: AttemptStore,
    private readonly notifier: Notifier,
    private readonly inFlight: InFlight | undefined,
    events: DelayEvents,
  ) {
    this.#trouble = new Trouble(events, 'abort');
  }

  /**
   * Asks those that hold these delays by now: never in a caller's transaction, in which the wish would be seen after its
   * COMMIT. The caller looks what came of it, and asks again.
   */
  async send(ids: readonly number[]): Promise<void> {
    try {
      const claims = await this.store.askAborts(ids);
      this.inFlight?.abort(claims);
      await this.notifier.abort(claims.filter(({ isOwn }) => !isOwn).map(({ id }) => id));
      this.#trouble.worked();
    } catch (error) {
      this.#trouble.failed(error);
    }
  }
}

/** Loads without LISTEN come this often: the loader alone has to find what is due soon. */
const LOAD_WITHOUT_LISTEN_MS = 1_000;

interface HearingParts {
  listener: HintListener;
  loader: Loader;
  connections: EngineConnections;
  events: DelayEvents;
  options: { loadEveryMs: number };
}

/** Does what follows from whether LISTEN works, now and when more is learnt of it. */
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
  listener.learnt.on(follow);
}

/** Between two rounds of claims that hints ask for. An attempt that is over on this node asks at once. */
const PAUSE_MS = 10;

/** Names and groups of one round; of what comes beyond that, the next look knows. */
const TOLD_MAX = 10_000;

interface CapacityParts {
  /** Attempts of names with limits that are over on this node. */
  freed: Signal<HeldClaim>;
  hints: Signal<Hint>;
  blocks: Pick<Throttles, 'freed' | 'freedElsewhere'>;
  nodes: Pick<Nodes, 'isShared'>;
  notifier: Pick<Notifier, 'sendVacant'>;
}

/**
 * From now on a claim that waits for a place under a limit hears when one is free, on this node and on the others. Each login
 * that may connect can tell of places, so what hints cost does not grow with how many come.
 */
export function tellOfPlaces({ freed, hints, blocks, nodes, notifier }: CapacityParts): Paced {
  let told = new Map<string, Vacancy>();
  const free = new Paced(() => {
    const round = told.values();
    told = new Map();
    for (const { name, groupNumber } of round) blocks.freedElsewhere(name, groupNumber);
  }, PAUSE_MS);
  freed.on(({ row }) => {
    const group = groupOf(row.extras);
    blocks.freed(row.name, group);
    if (nodes.isShared(row.name)) notifier.sendVacant(row.name, group);
  });
  hints.on((hint) => {
    if (hint.kind !== 'vacant') return;
    for (const place of hint.of) {
      if (!nodes.isShared(place.name) || told.size >= TOLD_MAX) continue;
      told.set(`${place.groupNumber} ${place.name}`, place);
    }
    if (told.size > 0) free.ask();
  });
  return free;
}

const groupOf = (extras: string | null): string | null =>
  extras === null ? null : (JSON.parse(extras) as { group: string | null }).group;
