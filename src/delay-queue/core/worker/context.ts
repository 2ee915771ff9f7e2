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
import { Jobs } from './jobs.js';
import { isManual, TestClock } from './test-clock.js';
import type { Zones } from './zones.js';

/**
 * Receives the parts of a node when they are built, before they work. Only tests provide one, to
 * watch and replace methods of these objects (`test/support/parts.ts`).
 */
export type Built = (...parts: unknown[]) => void;
export const BUILT = Symbol('delay-queue built');

/** What a worker is built from. */
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

/** What the parts of a worker share: the database as the worker sees it, and what it holds of it. */
export type WorkerContext = ReturnType<typeof createWorkerContext>;

export function createWorkerContext(setup: WorkerSetup) {
  const { options, registry, events, connections } = setup;
  const { schema, installation, nodeName, historyKept: kept } = options;
  const idle = new Idle(options.idleForMs);
  const listener = new HintListener(connections, schema, nodeName, events, idle);
  const lock = listener.processLock;
  const testClock = isManual(options)
    ? new TestClock(new TestClockStore(connections, installation))
    : undefined;
  return {
    ...setup,
    idle,
    listener,
    store: new AttemptStore(connections, installation, kept, nodeName, lock),
    limitStore: new LimitStore(connections, installation, kept, nodeName, lock),
    nodeStore: new NodeStore(connections, installation, nodeName),
    testClock,
    clock: testClock ?? new DatabaseClock(),
    jobs: new Jobs(),
    /** Delays of one claim, at most. */
    claimBatch: Math.max(options.claimBatch, registry.batchMax),
    /** How long a node counts as alive without a heartbeat. */
    aliveMs: options.loadEveryMs * LOADS_MISSED_MAX,
  };
}
