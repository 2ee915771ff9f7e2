import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { DATA_SOURCE } from '../database/chosen-data-source.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../options/delay-queue.options.js';
import { DelayConfigError } from '../delay/delay.errors.js';
import { DelayEvents } from '../delay/delay.events.js';
import { HandlerRegistry } from '../handlers/handler.registry.js';
import type { Wake } from '../store/wire/wakes.js';
import { WheelService } from '../wheel/wheel.service.js';
import { PERMISSION_DENIED, sqlStateOf } from '../store/sql-state.js';
import { TestClockStore } from '../store/test-clock.store.js';
import { AttemptStore } from '../store/attempt.store.js';
import { NodeStore } from '../store/node.store.js';
import type { ProducersEngine } from '../producer/producer-parts.js';
import { AfterCommit } from '../producer/transaction/after-commit.js';
import { Announcer, type WrittenAt } from '../intake/announcer.js';
import { EngineConnections } from '../database/engine-connections.js';
import { Notifier } from '../cluster/notifier.js';
import { Nodes } from '../cluster/nodes.js';
import { UnservedNames } from '../cluster/unserved-names.js';
import { type Findings, preflight, startError } from '../database/preflight.js';
import { SessionProof } from '../cluster/session-probe.js';
import { AbortRequests } from './abort-requests.js';
import { tasksOf, ListedTasks } from './listed-tasks.js';
import { isManual, type ManualRuns } from './manual-runs.js';
import { within } from '../tasks/within.js';
import { Worker } from './worker.js';

/** A start that takes longer waits for answers that may not come, and ends by itself when it has one. */
const STARTS_WITHIN_MS = 5_000;

/** Postgres cuts an application's name there. */
const APPLICATION_NAME_MAX = 63;

/** The engine's life: started at bootstrap, drained before the DataSource closes. */
@Injectable()
export class Engine implements ProducersEngine {
  readonly afterCommit: AfterCommit;
  #connections: EngineConnections | undefined;
  #notifier: Notifier | undefined;
  #announcer: Announcer | undefined;
  #unserved: UnservedNames | undefined;
  #aborts: AbortRequests | undefined;
  #worker: Worker | undefined;
  #proof: SessionProof | undefined;
  #starting: Promise<void> | undefined;
  #isStopped = false;

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(DATA_SOURCE) private readonly dataSource: DataSource,
    private readonly registry: HandlerRegistry,
    private readonly wheel: WheelService,
    private readonly events: DelayEvents,
    private readonly listed: ListedTasks,
  ) {
    this.afterCommit = new AfterCommit(dataSource);
  }

  /** @throws DelayConfigError when the database or the pool cannot do what is asked */
  start(): Promise<void> {
    return (this.#starting = this.#start());
  }

  async #start(): Promise<void> {
    const { type } = this.dataSource.options;
    if (type !== 'postgres') {
      throw new DelayConfigError(`the DataSource must be of type postgres, not ${type}`);
    }
    const name = `delay-queue ${this.options.nodeName}`.slice(0, APPLICATION_NAME_MAX);
    const connections = new EngineConnections(this.dataSource, this.options.connections, name);
    this.#connections = connections;
    try {
      connections.openEarly();
      const findings = await preflight(connections, this.options.schema);
      await createClock(connections, this.options);
      await this.#begin(connections, findings);
    } catch (error) {
      await connections.close();
      throw startError(error, this.options.schema);
    }
  }

  /** Where callers' statements can be prepared; undefined when there is no such place. */
  get callers(): EngineConnections['callers'] {
    return this.#connections?.callers;
  }

  /**
   * A write was committed: this node, or its owner, keeps an eye on it.
   * @param certain whether it surely stands: a savepoint may have taken it back
   */
  announce(wake: Wake, written: WrittenAt, certain: boolean): void {
    this.#unserved?.written(wake.name);
    this.#announcer?.announce(wake, written, certain ? 'read' : 'told');
  }

  /** Of a node that runs nothing by itself, once it has started. */
  get manual(): ManualRuns | undefined {
    return this.#worker?.manual;
  }

  /** The row of that id is gone. */
  disarm(id: number): void {
    this.#worker?.intake.disarm(id);
  }

  /** Names or groups are paused, or go on: here at once, and on all nodes that hear it. */
  pausesChanged(): void {
    this.#worker?.nodesChanged();
    void this.#notifier?.nodesChanged();
  }

  /** Asks the attempts that hold these delays to end. */
  async abort(ids: readonly number[]): Promise<void> {
    await this.#aborts?.send(ids);
  }

  /** Ends well, handlers in flight first; harmless when nothing was started. */
  async stop(): Promise<void> {
    await this.#whenStarted();
    this.#isStopped = true;
    this.listed.remove();
    const unfinished = (await this.#worker?.drain()) ?? 0;
    await this.#notifier?.drain();
    await this.#proof?.stop();
    await this.#unserved?.stop();
    this.afterCommit.stop();
    await this.#connections?.close();
    this.events.emit('stopped', { node: this.options.nodeName, unfinished });
  }

  /** Closed while it starts: what is half there could not be drained. */
  async #whenStarted(): Promise<void> {
    if (this.#starting === undefined) return;
    const started = this.#starting.catch(() => {});
    await within(started, STARTS_WITHIN_MS);
  }

  /** In the background: callers go to their own pool meanwhile. */
  #proveSessions(connections: EngineConnections): void {
    this.#proof = new SessionProof(connections, this.options.schema);
    void this.#proof.answered.then((stay) => {
      if (stay) connections.prepareStatements();
    });
  }

  async #begin(connections: EngineConnections, { limits }: Findings): Promise<void> {
    const { options, events, dataSource, registry, wheel } = this;
    const notifier = new Notifier(connections, options.schema, events);
    const names = options.worker ? registry.names() : [];
    const nodes = new Nodes(options.nodeName, names, registry.limitedByGroup());
    const worker =
      names.length === 0 && !isManual(options)
        ? undefined
        : new Worker({
            options,
            dataSource,
            registry,
            wheel,
            events,
            connections,
            nodes,
            notifier,
          });
    this.afterCommit.start();
    this.#notifier = notifier;
    this.#announcer = new Announcer(nodes, notifier, options.horizonMs, worker?.intake);
    if (!isManual(options)) {
      const nodeStore = new NodeStore(connections, options.installation, options.nodeName);
      this.#unserved = new UnservedNames(nodeStore, names, options, events);
    }
    const store = new AttemptStore(connections, options.installation, 'nothing', options.nodeName);
    this.#aborts = new AbortRequests(store, notifier, worker?.inFlight, events);
    const listens = (await worker?.start()) ?? false;
    if (this.#isStopped) return void (await worker?.drain());
    if (worker !== undefined && !listens && limits !== null) {
      events.emit('advice', {
        message:
          `${limits} on this role ends statements of the engine, and sessions of a pooler take no ` +
          'settings from it: ALTER ROLE … SET it to 15s or more',
      });
    }
    this.#worker = worker;
    if (isManual(options)) {
      events.emit('advice', {
        message: "this node runs nothing by itself: its worker is 'manual', which is for tests",
      });
    }
    if (worker === undefined) this.#proveSessions(connections);
    else this.listed.add(tasksOf(options));
    events.emit('ready', {
      node: options.nodeName,
      names,
      worker: worker !== undefined,
      listens,
    });
  }
}

/** Of a schema under test, which a production one does not have. */
async function createClock(
  connections: EngineConnections,
  { installation }: ResolvedOptions,
): Promise<void> {
  if (installation.clock === 'database') return;
  try {
    await new TestClockStore(connections, installation).create();
  } catch (error) {
    if (sqlStateOf(error) !== PERMISSION_DENIED) throw error;
    throw new DelayConfigError(
      `${(error as Error).message}. A node under test makes a clock in the schema ${installation.schema}: run the tests ` +
        'as the role that owns it',
      { cause: error },
    );
  }
}
