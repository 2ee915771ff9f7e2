import { Nodes } from '../cluster/nodes.js';
import { Notifier } from '../cluster/notifier.js';
import { startError } from '../database/driver-errors.js';
import { AttemptStore } from '../store/attempt.store.js';
import { ZoneStore } from '../store/zone.store.js';
import { within } from '../tasks/signal.js';
import { AbortRequests } from '../worker/abort-watch.js';
import { Announcer } from '../worker/announcer.js';
import type { WorkerSetup } from '../worker/context.js';
import { isManual } from '../worker/test-clock.js';
import { Worker, type WorkerVitals } from '../worker/worker.js';
import { Zones } from '../worker/zones.js';

/** How long to wait for a start: the answers that a slower one waits for may never come. */
export const STARTS_WITHIN_MS = 5_000;

interface SwitchSetup extends Omit<WorkerSetup, 'nodes' | 'notifier' | 'zones'> {
  /** Settings of the role, in words, that are too short for the engine's statements. Null: none. */
  limits: string | null;
}

interface Crew {
  worker: Worker;
  nodes: Nodes;
}

/** Starts and ends the worker of a node: a new one for each run. In between, it only schedules. */
export class WorkerSwitch {
  readonly notifier: Notifier;
  readonly zones: Zones;
  announcer: Announcer;
  /** Asks attempts to end, here and elsewhere. */
  aborts: AbortRequests;
  /** Created early: a configuration error appears at the start of the application. */
  #next: Crew | undefined;
  /** Kept until it has drained; the last one is kept forever. */
  worker: Worker | undefined;
  /** Starts and ends, one after the other. Never rejects. */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @throws DelayConfigError when `transactionalConnections` are too few for its handlers */
  constructor(private readonly parts: SwitchSetup) {
    const { connections, options, events } = parts;
    this.notifier = new Notifier(connections, options.schema, events);
    this.zones = new Zones(new ZoneStore(connections, options.installation), events);
    parts.built(this.notifier);
    [this.announcer, this.aborts] = this.#tellers(this.#nodesServing([]));
    if (this.hasWork) this.#next = this.#crew();
  }

  get hasWork(): boolean {
    const { options, registry } = this.parts;
    return isManual(options) || (options.worker !== false && registry.names().length > 0);
  }

  /** What the worker shows of itself; undefined: none runs that is not about to end. */
  get vitals(): WorkerVitals | undefined {
    return this.worker?.hasStarted && !this.worker.isShut ? this.worker.vitals : undefined;
  }

  /** @throws DelayConfigError, and what the database says in words of its remedy */
  run(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.worker === undefined && this.hasWork && !this.#isClosed) await this.#start();
    });
  }

  /**
   * Ends the worker that runs or starts. From now on it claims nothing more.
   * @returns how many attempts were given back unfinished
   */
  stop(): Promise<number> {
    this.#shut();
    return this.#inTurn(() => this.#end());
  }

  /** The same, for good. A start that hangs is not awaited: half a worker cannot be drained. */
  async close(): Promise<number> {
    this.#isClosed = true;
    this.#shut();
    if (this.worker?.hasStarted === false) await within(this.#turn, STARTS_WITHIN_MS);
    return await this.#end();
  }

  /** From now on committed writes go to other nodes. */
  #shut(): void {
    if (this.worker === undefined) return;
    this.worker.shut();
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
    this.worker = worker;
    [this.announcer, this.aborts] = this.#tellers(nodes, worker);
    let listens: boolean;
    try {
      listens = await worker.start();
    } catch (error) {
      this.#left(worker);
      throw startError(error, options.schema);
    }
    // Stopped meanwhile, by a call that only saw that the worker had not started.
    if (worker.isShut) return void (await this.#end());
    if (!listens && limits !== null) {
      events.emit('advice', {
        message:
          `${limits} on this role ends statements of the engine, which cannot override it through a ` +
          'pooler: ALTER ROLE … SET it to 15s or more',
      });
    }
    const names = registry.names();
    events.emit('ready', { node: options.nodeName, names, worker: true, listens });
  }

  #crew(): Crew {
    const nodes = this.#nodesServing(this.parts.registry.names());
    return {
      nodes,
      worker: new Worker({ ...this.parts, nodes, notifier: this.notifier, zones: this.zones }),
    };
  }

  async #end(): Promise<number> {
    const worker = this.worker;
    if (worker === undefined || !worker.hasStarted) return 0;
    const unfinished = await worker.drain();
    this.#left(worker);
    return unfinished;
  }

  #left(worker: Worker): void {
    if (this.worker !== worker || this.#isClosed) return;
    this.worker = undefined;
    [this.announcer, this.aborts] = this.#tellers(this.#nodesServing([]));
  }

  #nodesServing(names: readonly string[]): Nodes {
    const { options, registry } = this.parts;
    return new Nodes(options.nodeName, names, registry.limitedByGroup());
  }

  #tellers(nodes: Nodes, worker?: Worker): [Announcer, AbortRequests] {
    const { options, connections, events } = this.parts;
    const { notifier } = this;
    const store = new AttemptStore(connections, options.installation, 'nothing', options.nodeName);
    this.parts.built(store);
    return [
      new Announcer({ nodes, notifier, options }, worker?.parts),
      new AbortRequests({ store, notifier, events }, worker?.parts.jobs),
    ];
  }
}
