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
import { RerunStore } from '../store/rerun.store.js';
import { LimitStore } from '../store/limit.store.js';
import { NodeStore } from '../store/node.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import { TestClockStore } from '../store/test-clock.store.js';
import { Idle } from '../tasks/recurring-task.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import { HintFollower, reportVacancy } from './hint-follower.js';
import { Announcer } from './announcer.js';
import { AbortWatch } from './abort-watch.js';
import { HintedRows } from './hinted-rows.js';
import { handlerConnections, SlotKeeper } from './admission.js';
import { Claimer } from './claimer.js';
import { AttemptStarts } from './attempt-reports.js';
import { Completer, type CompleterPort } from './completer.js';
import { Declarations } from './declarations.js';
import { Executor } from './executor.js';
import { Jobs } from './jobs.js';
import { Throttles } from './limits.js';
import { ClaimSizes } from './claim-sizes.js';
import { Loader } from './loader.js';
import { Loop } from './loop.js';
import { LeaseKeeper } from './lease-keeper.js';
import { isManual, ManualRuns } from './manual-runs.js';
import { TestClock } from './test-clock.js';
import { MissedClaims } from './missed-claims.js';
import { NameStates } from './name-state.js';
import { OnDeadCalls } from './on-dead-calls.js';
import { createPruners } from './pruner.js';
import { Reruns } from './reruns.js';
import { Scanner } from './scanner.js';
import { TimerQueue } from './timer-queue.js';
import type { Zones } from './zones.js';

/**
 * Receives the parts of a node when they are built, before they work. Only tests provide one, to
 * watch and replace methods of these objects (`test/support/parts.ts`).
 */
export type Built = (...parts: unknown[]) => void;
export const BUILT = Symbol('delay-queue built');

/** What the parts of a worker are built from. */
export interface WorkerSetup {
  options: ResolvedOptions;
  dataSource: DataSource;
  registry: HandlerRegistry;
  wheel: WheelService;
  events: DelayEvents;
  connections: EngineConnections;
  nodes: Nodes;
  notifier: Notifier;
  zones: Zones;
  built: Built;
}

/** The database as a worker sees it, and what the worker holds of it. */
type Basis = ReturnType<typeof buildBasis>;

/** Where the loop starts and ends: the completer's outcomes go back into the timer queue. */
type Core = ReturnType<typeof buildCore>;

/** What brings wakes into the timer queue. */
type Fetching = ReturnType<typeof buildFetching>;

/** What runs handlers. */
type Executing = ReturnType<typeof buildExecuting>;

/** What runs beside the loop. */
type Background = ReturnType<typeof buildBackground>;

/** The parts of a worker, in the order of the loop. */
export type WorkerParts = Basis & Core & Fetching & Executing & Background & { loop: Loop };

/** What parts report to others that are built after them. */
type Reports = Pick<Loop, 'slotFreed' | 'wake'> & Pick<CompleterPort, 'exhausted' | 'wrote'>;

/** @throws DelayConfigError when `transactionalConnections` are too few for its handlers */
export function buildParts(setup: WorkerSetup): WorkerParts {
  const basis = buildBasis(setup);
  const to: Reports = {
    wake: () => loop.wake(),
    slotFreed: (name) => loop.slotFreed(name),
    wrote: () => {
      loop.wake();
      if (basis.testClock === undefined) background.reruns.ended();
    },
    exhausted: (attempt, onDead) => executing.onDeadCalls.add(attempt, onDead),
  };
  const core = { ...basis, ...buildCore(setup, basis, to) };
  const fetching = buildFetching(setup, core);
  const executing = buildExecuting(setup, core);
  const stations = { ...core, ...fetching, ...executing };
  const loop = buildLoop(setup, stations, to);
  const background = buildBackground(setup, { ...stations, loop });
  return { ...stations, loop, ...background };
}

function buildBasis({ options, registry, events, connections }: WorkerSetup) {
  const { schema, installation, nodeName, historyKept: kept } = options;
  const idle = new Idle(options.idleForMs);
  const listener = new HintListener(connections, schema, nodeName, events, idle);
  const lock = listener.processLock;
  const testClock = isManual(options)
    ? new TestClock(new TestClockStore(connections, installation))
    : undefined;
  return {
    idle,
    listener,
    store: new AttemptStore(connections, installation, kept, nodeName, lock),
    nodeStore: new NodeStore(connections, installation, nodeName),
    testClock,
    clock: testClock ?? new DatabaseClock(),
    jobs: new Jobs(),
    claimBatch: Math.max(options.claimBatch, registry.batchMax),
  };
}

function buildCore(setup: WorkerSetup, parts: Basis, to: Reports) {
  const { options, wheel, registry, events, nodes, notifier, connections } = setup;
  const share = handlerConnections(connections.attempts.max, registry, options.concurrency, events);
  const names = new NameStates(registry, share, events, () => to.wake());
  const { store, clock, testClock, jobs, claimBatch } = parts;
  const throttles = new Throttles(
    wheel,
    names,
    {
      throttleEnded: ({ of, group }) => queue.ready.release(of.name, group),
      vacant: () => to.wake(),
    },
    testClock && (() => testClock.nowMs()),
  );
  const aliveMs = options.loadEveryMs * LOADS_MISSED_MAX;
  const completer = new Completer(store, events, aliveMs, jobs, {
    wrote: () => to.wrote(),
    waits: (wake) => queue.offerIfNear(wake),
    freed: (attempt) => reportVacancy(attempt, throttles, nodes, notifier),
    passed: (wake) => notifier.sendPassed(wake),
    exhausted: (attempt, onDead) => to.exhausted(attempt, onDead),
  });
  const limits = { claimBatch, horizonMs: options.horizonMs };
  const queue = new TimerQueue(wheel, { clock, nodes, jobs, names }, limits, {
    due: () => {
      parts.idle.disturb();
      to.wake();
    },
    unreadable: (id) => void completer.deadLetters.unreadable(id),
    giveBack: (id, epoch) => completer.giveBack(id, epoch),
  });
  return { names, throttles, completer, queue };
}

function buildFetching(setup: WorkerSetup, parts: Basis & Core) {
  const { options, events, nodes } = setup;
  const { store, jobs, queue } = parts;
  const loader = new Loader({ ...setup, ...parts });
  const scanner = new Scanner({ ...setup, ...parts });
  const aborts = new AbortWatch(store, jobs, events);
  const rows = new HintedRows(store, queue, options.horizonMs, events);
  const hints = new HintFollower({ ...parts, loader, rows, aborts, nodes, options });
  return { loader, scanner, aborts, hints };
}

function buildExecuting(setup: WorkerSetup, parts: Basis & Core) {
  const { options, dataSource, connections, registry, events } = setup;
  const { store, jobs, completer, names } = parts;
  const fenced = { dataSource, store, engine: connections };
  // A call of `@OnDeadDelay` takes no slot; one runs at a time.
  const callsMax = names.inAll + (registry.all().some(({ onDead }) => onDead) ? 1 : 0);
  const starts = new AttemptStarts(events, options.nodeName, options.telemetry);
  const executor = new Executor({ ...setup, ...parts, fenced, callsMax, starts });
  const onDeadCalls = new OnDeadCalls(store, registry, executor, jobs, completer.exhausted, events);
  return { executor, onDeadCalls };
}

function buildLoop(
  setup: WorkerSetup,
  parts: Basis & Core & Fetching & Executing,
  to: Reports,
): Loop {
  const { options, connections } = setup;
  const { claimBatch, listener, queue, throttles, names } = parts;
  const { installation, historyKept: kept, nodeName } = options;
  const sizes = new ClaimSizes(claimBatch, names);
  const lock = listener.processLock;
  const limited = new LimitStore(connections, installation, kept, nodeName, lock);
  const slots = new SlotKeeper(names, claimBatch, throttles, sizes, queue, {
    freed: (name) => to.slotFreed(name),
    vacant: () => to.wake(),
  });
  const claimer = new Claimer({ ...setup, ...parts, limited, sizes });
  const missed = new MissedClaims({ ...setup, ...parts, deadLetters: parts.completer.deadLetters });
  setup.built(limited, slots);
  return new Loop({ ...parts, slots, claimer, missed });
}

function buildBackground(
  setup: WorkerSetup,
  parts: Basis & Core & Fetching & Executing & { loop: Loop },
) {
  const { options, registry, events, connections, nodes, notifier, zones } = setup;
  const { store, nodeStore, idle, testClock, jobs } = parts;
  const { installation, historyKept: kept, loadEveryMs, leaseMs } = options;
  const declarations = new Declarations(connections, options, registry, events, zones, idle);
  const announcer = new Announcer(nodes, notifier, options, parts);
  const reruns = new Reruns(
    new RerunStore(installation, kept),
    connections,
    loadEveryMs,
    events,
    idle,
    ({ wake, nowMs }) => {
      if (testClock !== undefined) return;
      const written = { databaseMs: nowMs, monotonicMs: performance.now() };
      announcer.announce(wake, written, 'confirmed');
    },
  );
  return {
    declarations,
    reruns,
    manual:
      testClock &&
      new ManualRuns({ ...parts, declarations, reruns, clock: testClock }, connections),
    leaseKeeper: new LeaseKeeper(store, jobs, leaseMs, events),
    pruners: createPruners(nodeStore, options.historyKeeps, events, idle),
  };
}
