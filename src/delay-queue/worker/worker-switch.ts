import type { DataSource } from 'typeorm';
import type { DelayEvents } from '../api/events.js';
import { Nodes } from '../cluster/nodes.js';
import type { Notifier } from '../cluster/notifier.js';
import type { ResolvedOptions } from '../config/options.js';
import type { EngineConnections } from '../database/engine-connections.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import { AttemptStore } from '../store/attempt.store.js';
import { within } from '../tasks/signal.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import { AbortRequests, Announcer } from './hints.js';
import { type ListedTasks, tasksOf } from './listed-tasks.js';
import { isManual } from './manual-runs.js';
import { Worker } from './worker.js';

/** A start that takes longer waits for answers that may not come, and ends by itself when it has one. */
export const STARTS_WITHIN_MS = 5_000;

interface Parts {
  options: ResolvedOptions;
  dataSource: DataSource;
  registry: HandlerRegistry;
  wheel: WheelService;
  events: DelayEvents;
  listed: ListedTasks;
  connections: EngineConnections;
  notifier: Notifier;
  /** Of the role, in words: too short for the engine's statements. Null: there is none. */
  limits: string | null;
  /** Of the database. */
  encoding: string;
}

/** A worker, and who else there is as it sees it. */
interface Crew {
  worker: Worker;
  nodes: Nodes;
}

/**
 * Starts and ends the worker of a node: each run is a worker of its own. Between two of them, this node
 * is one that only schedules.
 */
export class WorkerSwitch {
  /** Where committed writes go. */
  announcer: Announcer;
  /** Asks attempts to end, here and elsewhere. */
  aborts: AbortRequests;
  /** Made before it is wanted: what keeps it from working is told at the start of the application. */
  #next: Crew | undefined;
  /** Until it has drained; the last one of all for good. */
  #worker: Worker | undefined;
  /** Runs and ends, one after the other. Never rejects. */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @throws DelayConfigError when the application's pool is too small for its handlers */
  constructor(private readonly parts: Parts) {
    [this.announcer, this.aborts] = this.#tellers(this.#nodesServing([]));
    if (this.hasWork) this.#next = this.#crew();
  }

  /** That runs, starts or drains. */
  get worker(): Worker | undefined {
    return this.#worker;
  }

  /** Whether this node has anything to run. */
  get hasWork(): boolean {
    const { options, registry } = this.parts;
    return isManual(options) || (options.worker !== false && registry.names().length > 0);
  }

  /** Starts a worker, unless one runs. */
  run(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#worker === undefined && this.hasWork && !this.#isClosed) await this.#start();
    });
  }

  /**
   * Ends the worker that runs, or starts: claims nothing more from this moment on.
   * @returns how many attempts were given back unfinished
   */
  stop(): Promise<number> {
    this.#shut();
    return this.#inTurn(() => this.#end());
  }

  /** The same for good. A start that hangs is not waited for: what is half there could not be drained. */
  async close(): Promise<number> {
    this.#isClosed = true;
    this.#shut();
    if (this.#worker?.hasStarted === false) await within(this.#turn, STARTS_WITHIN_MS);
    return await this.#end();
  }

  /** What is written from now on is told to others. */
  #shut(): void {
    if (this.#worker === undefined) return;
    this.#worker.shut();
    [this.announcer] = this.#tellers(this.#nodesServing([]));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  async #start(): Promise<void> {
    const { options, registry, events, limits } = this.parts;
    const { worker, nodes } = this.#next ?? this.#crew();
    this.#next = undefined;
    this.#worker = worker;
    [this.announcer, this.aborts] = this.#tellers(nodes, worker);
    let listens: boolean;
    try {
      listens = await worker.start();
    } catch (error) {
      this.#left(worker);
      throw error;
    }
    // Told to end meanwhile, by a call that saw only that it had not started.
    if (worker.isShut) return void (await this.#end());
    if (!listens && limits !== null) {
      events.emit('advice', {
        message:
          `${limits} on this role ends statements of the engine, and sessions of a pooler take no ` +
          'settings from it: ALTER ROLE … SET it to 15s or more',
      });
    }
    this.parts.listed.add(tasksOf(options));
    const names = registry.names();
    events.emit('ready', { node: options.nodeName, names, worker: true, listens });
  }

  #crew(): Crew {
    const nodes = this.#nodesServing(this.parts.registry.names());
    return { nodes, worker: new Worker({ ...this.parts, nodes }) };
  }

  async #end(): Promise<number> {
    const worker = this.#worker;
    if (worker === undefined || !worker.hasStarted) return 0;
    this.parts.listed.remove();
    const unfinished = await worker.drain();
    this.#left(worker);
    return unfinished;
  }

  #left(worker: Worker): void {
    if (this.#worker !== worker || this.#isClosed) return;
    this.#worker = undefined;
    [this.announcer, this.aborts] = this.#tellers(this.#nodesServing([]));
  }

  #nodesServing(names: readonly string[]): Nodes {
    const { options, registry } = this.parts;
    return new Nodes(options.nodeName, names, registry.limitedByGroup());
  }

  #tellers(nodes: Nodes, worker?: Worker): [Announcer, AbortRequests] {
    const { options, connections, notifier, events } = this.parts;
    const store = new AttemptStore(connections, options.installation, 'nothing', options.nodeName);
    return [
      new Announcer(nodes, notifier, options, worker),
      new AbortRequests(store, notifier, worker?.inFlight, events),
    ];
  }
}
