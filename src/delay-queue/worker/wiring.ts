import type { DataSource } from 'typeorm';
import type { DelayEvents } from '../api/events.js';
import { HintListener } from '../cluster/listener.js';
import type { Nodes } from '../cluster/nodes.js';
import type { Notifier } from '../cluster/notifier.js';
import type { ResolvedOptions } from '../config/options.js';
import { DatabaseClock } from '../database/database-clock.js';
import type { EngineConnections } from '../database/engine-connections.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import { AttemptStore } from '../store/attempt.store.js';
import { LimitStore } from '../store/limit.store.js';
import { NodeStore } from '../store/node.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import { TestClockStore } from '../store/test-clock.store.js';
import { Idle } from '../tasks/recurring-task.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import { AbortWatch, HintedRows, HintFollower, reportVacancy } from './hints.js';
import { handlersShareOf, SlotKeeper } from './admission.js';
import { Claimer } from './claimer.js';
import { InFlight, LostClaims } from './claims.js';
import { Completer, type CompleterPort } from './completer.js';
import { Executor } from './executor.js';
import { IsolationLevel } from './fenced-transaction.js';
import { ClaimSizes, Throttles } from './limits.js';
import { Loader } from './loader.js';
import { Loop } from './loop.js';
import { isManual, TestClock } from './manual-runs.js';
import { MissedClaims } from './missed-claims.js';
import { type NameState, NameStates } from './name-state.js';
import { OnDeadCalls } from './on-dead-calls.js';
import { Scanner } from './scanner.js';
import { TimerQueue } from './timer-queue.js';

/**
 * Called with the parts of a node when they are built, before they work. Does nothing, except in tests, which watch
 * and replace methods of these objects (`test/support/parts.ts`).
 */
export type Built = (...parts: unknown[]) => void;
export const BUILT = Symbol('delay-queue built');

/** What a worker is made of that others made. */
export interface WorkerParts {
  options: ResolvedOptions;
  dataSource: DataSource;
  registry: HandlerRegistry;
  wheel: WheelService;
  events: DelayEvents;
  connections: EngineConnections;
  nodes: Nodes;
  notifier: Notifier;
  /** Of the database. */
  encoding: string;
  built: Built;
}

/** What the parts of a worker report, which come before the one that hears it. */
export interface Reports {
  /** Something may be claimed: an entry is due, a slot or a limit is free, an outcome was written. */
  wake(): void;
  /** A call of that name has given its slot back. */
  slotFreed(name: NameState): void;
  /** Outcomes were written. */
  wrote(): void;
  /** The last attempt of a delay has failed whose name has an `@OnDeadDelay`. */
  exhausted: CompleterPort['exhausted'];
}

type Base = ReturnType<typeof baseOf>;
type Core = ReturnType<typeof coreOf>;

/** The database as this worker sees it, and what it holds of it. */
export function baseOf(parts: WorkerParts) {
  const { options, events, connections, encoding } = parts;
  const { schema, installation, nodeName, historyKept: kept } = options;
  const idle = new Idle(options.idleForMs);
  const listener = new HintListener(connections, schema, nodeName, events, idle);
  const { processLock } = listener;
  const store = new AttemptStore(connections, installation, kept, nodeName, processLock, encoding);
  const testClock = isManual(options)
    ? new TestClock(new TestClockStore(connections, installation))
    : undefined;
  return {
    idle,
    listener,
    processLock,
    store,
    nodeStore: new NodeStore(connections, installation, nodeName),
    testClock,
    clock: testClock ?? new DatabaseClock(),
    inFlight: new InFlight(),
    lost: new LostClaims(),
    claimBatch: Math.max(options.claimBatch, parts.registry.batchMax),
  };
}

/**
 * Where the loop starts and ends: the timer queue, and the completer, whose outcomes go back into
 * the queue.
 *
 * @throws DelayConfigError when the application's pool is too small for its handlers
 */
export function coreOf(parts: WorkerParts, base: Base, to: Reports) {
  const { options, wheel, registry, events, connections, nodes, notifier } = parts;
  const poolMax = connections.applicationPoolMax;
  const share = handlersShareOf(poolMax, registry, options.concurrency, events);
  const names = new NameStates(registry, share, events, () => to.wake());
  const { store, clock, testClock, inFlight, lost, claimBatch } = base;
  const throttles = new Throttles(
    wheel,
    names,
    {
      throttleEnded: ({ of, group }) => queue.release(of.name, group),
      vacant: () => to.wake(),
    },
    testClock && (() => testClock.nowMs()),
  );
  const aliveMs = options.loadEveryMs * LOADS_MISSED_MAX;
  const completer = new Completer(store, connections, events, aliveMs, {
    wrote: () => to.wrote(),
    waits: (wake) => queue.offerIfNear(wake),
    freed: (claim) => reportVacancy(claim, throttles, nodes, notifier),
    passed: (wake) => notifier.sendPassed(wake),
    exhausted: (attempt, onDead) => to.exhausted(attempt, onDead),
  });
  const claims = { inFlight, completer, lost };
  const limits = { claimBatch, horizonMs: options.horizonMs };
  const queue = new TimerQueue(wheel, clock, nodes, claims, names, limits, {
    due: () => {
      base.idle.disturb();
      to.wake();
    },
    unreadable: (id) => void completer.deadLetters.unreadable(id),
  });
  return { names, throttles, completer, claims, queue };
}

/** What brings wakes into the timer queue. */
export function fetchersOf(parts: WorkerParts, base: Base, { queue, throttles }: Core) {
  const { options, events, nodes } = parts;
  const { store, nodeStore, clock, idle, listener, inFlight, processLock } = base;
  const loader = new Loader(nodeStore, nodes, clock, options, queue, listener, idle, events);
  const lock = processLock.number;
  const scanner = new Scanner(nodeStore, nodes, options.leaseMs, queue, lock, events, idle);
  const aborts = new AbortWatch(store, inFlight, events);
  const rows = new HintedRows(store, queue, options.horizonMs, events);
  const parties = { queue, loader, rows, aborts, throttles, nodes, clock, idle, options };
  return { loader, scanner, aborts, hints: new HintFollower(parties) };
}

/** What runs handlers. */
export function executorsOf(parts: WorkerParts, base: Base, core: Core) {
  const { dataSource, connections, registry, wheel, events } = parts;
  const { store, inFlight } = base;
  const { names, completer } = core;
  const fenced = { dataSource, store, engine: connections, isolation: new IsolationLevel() };
  // A call of `@OnDeadDelay` takes no slot; one runs at a time.
  const callsMax = names.inAll + (registry.all().some(({ onDead }) => onDead) ? 1 : 0);
  const executor = new Executor(wheel, fenced, completer, inFlight, names, events, callsMax);
  const onDeadCalls = new OnDeadCalls(store, registry, executor, completer.exhausted, events);
  return { executor, onDeadCalls };
}

/** The loop itself, with what admits and claims. */
export function loopOf(
  parts: WorkerParts,
  base: Base,
  core: Core,
  { scanner }: Pick<ReturnType<typeof fetchersOf>, 'scanner'>,
  { executor, onDeadCalls }: ReturnType<typeof executorsOf>,
  to: Reports,
): Loop {
  const { options, registry, events, connections } = parts;
  const { store, clock, lost, claimBatch, inFlight, processLock } = base;
  const { names, queue, completer, throttles } = core;
  const { installation, historyKept, nodeName } = options;
  const sizes = new ClaimSizes(claimBatch, names);
  const limited = new LimitStore(connections, installation, historyKept, nodeName, processLock);
  const slots = new SlotKeeper(names, claimBatch, throttles, sizes, queue, {
    freed: (name) => to.slotFreed(name),
    vacant: () => to.wake(),
  });
  const claimer = new Claimer(
    store,
    limited,
    throttles,
    registry,
    clock,
    queue,
    completer,
    lost,
    sizes,
    events,
  );
  const missed = new MissedClaims(
    store,
    registry,
    queue,
    lost,
    onDeadCalls,
    completer.deadLetters,
    events,
  );
  parts.built(limited, slots);
  const stations = { queue, slots, claimer, missed, executor, completer };
  return new Loop({ ...stations, names, inFlight, scanner });
}
