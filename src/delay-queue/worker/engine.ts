import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { storableIn } from '../api/error-text.js';
import { DelayConfigError, DelayShutdownError } from '../api/errors.js';
import { DelayEvents } from '../api/events.js';
import type { ProducersEngine } from '../client/producer.js';
import { Notifier } from '../cluster/notifier.js';
import { SessionProof } from '../cluster/session-probe.js';
import { UnservedNames } from '../cluster/unserved-names.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { DATA_SOURCE } from '../database/chosen-data-source.js';
import { PERMISSION_DENIED, sqlStateOf, startError } from '../database/driver-errors.js';
import { EngineConnections } from '../database/engine-connections.js';
import { HandlerRegistry } from '../handlers/handler.registry.js';
import { NodeStore } from '../store/node.store.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { type Findings, preflight } from '../store/tables/preflight.js';
import { TestClockStore } from '../store/test-clock.store.js';
import { within } from '../tasks/signal.js';
import { WheelService } from '../timer-wheel/wheel.service.js';
import { AfterCommit } from '../transactions/commit-hooks.js';
import type { WrittenAt } from './hints.js';
import { ListedTasks } from './listed-tasks.js';
import { isManual, type ManualRuns } from './manual-runs.js';
import { STARTS_WITHIN_MS, WorkerSwitch } from './worker-switch.js';

/** Postgres cuts an application's name there. */
const APPLICATION_NAME_MAX = 63;

/** The engine's life: started at bootstrap, drained before the DataSource closes. */
@Injectable()
export class Engine implements ProducersEngine {
  readonly afterCommit: AfterCommit;
  #connections: EngineConnections | undefined;
  #notifier: Notifier | undefined;
  #unserved: UnservedNames | undefined;
  #switch: WorkerSwitch | undefined;
  #proof: SessionProof | undefined;
  #starting: Promise<void> | undefined;
  #areHooksCalled = false;
  #hooksTimer: NodeJS.Timeout | undefined;
  #isBootstrapped = false;
  /** Whether the worker is to run once everything has bootstrapped. */
  #isWanted: boolean;
  #closing: Promise<number> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(DATA_SOURCE) private readonly dataSource: DataSource,
    private readonly registry: HandlerRegistry,
    private readonly wheel: WheelService,
    private readonly events: DelayEvents,
    private readonly listed: ListedTasks,
  ) {
    this.afterCommit = new AfterCommit(dataSource);
    this.#isWanted = options.autorun || isManual(options);
  }

  /**
   * Everything but the worker, which claims nothing before all providers have bootstrapped.
   * @throws DelayConfigError when the database or the pool cannot do what is asked
   */
  start(): Promise<void> {
    return (this.#starting = this.#start());
  }

  async #start(): Promise<void> {
    const { options, isInitialized } = this.dataSource;
    if (options.type !== 'postgres') {
      throw new DelayConfigError(`the DataSource must be of type postgres, not ${options.type}`);
    }
    // Its pool has the settings: without one, connections would go wherever PGHOST and the like lead.
    if (!isInitialized) throw new DelayConfigError(NOT_INITIALIZED);
    const name = `delay-queue ${this.options.nodeName}`.slice(0, APPLICATION_NAME_MAX);
    const connections = new EngineConnections(this.dataSource, this.options.connections, name);
    this.#connections = connections;
    try {
      connections.openEarly();
      const findings = await preflight(connections, this.options.schema, options.schema);
      await createClock(connections, this.options);
      await this.#begin(connections, findings);
    } catch (error) {
      await connections.close();
      throw startError(error, this.options.schema);
    }
  }

  /** Nest calls the hooks of this application. */
  hooksAreCalled(): void {
    this.#areHooksCalled = true;
    clearTimeout(this.#hooksTimer);
  }

  /** A delay was scheduled here. */
  scheduled(): void {
    if (this.#areHooksCalled || this.#hooksTimer !== undefined) return;
    if (this.options.worker === false) return;
    this.#hooksTimer = setTimeout(() => {
      this.events.emit('advice', { message: NO_HOOKS });
    }, HOOKS_WITHIN_MS).unref();
  }

  /** All providers have bootstrapped. */
  async bootstrapped(): Promise<void> {
    this.#isBootstrapped = true;
    if (!this.#isWanted || this.#closing !== undefined) return;
    try {
      await this.#switch?.run();
    } catch (error) {
      await this.#connections?.close();
      throw startError(error, this.options.schema);
    }
  }

  /**
   * Starts the worker, or has it start with the application.
   * @throws DelayConfigError this node has no worker
   * @throws DelayShutdownError the application is closing
   */
  async run(): Promise<void> {
    const { worker, schema } = this.options;
    if (worker !== true) throw new DelayConfigError(notToRun(worker));
    if (this.#closing !== undefined) throw new DelayShutdownError();
    this.#isWanted = true;
    if (!this.#isBootstrapped) return;
    await this.#switch?.run().catch((error: unknown) => {
      throw startError(error, schema);
    });
  }

  /** Ends the worker: the node goes on as one that only schedules. */
  async endRun(): Promise<void> {
    this.#isWanted = isManual(this.options);
    if (!isManual(this.options)) await this.#switch?.stop();
  }

  /** Whether a worker runs here, and is not about to end. */
  get isRunning(): boolean {
    const worker = this.#switch?.worker;
    return worker !== undefined && worker.hasStarted && !worker.isShut;
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
    this.#switch?.announcer.announce(wake, written, certain ? 'read' : 'told');
  }

  /** Of a node that runs nothing by itself, once it has started. */
  get manual(): ManualRuns | undefined {
    return this.#switch?.worker?.manual;
  }

  /** The row of that id is gone. */
  disarm(id: number): void {
    this.#switch?.worker?.queue.disarm(id);
  }

  /** Names or groups are paused, or go on: here at once, and on all nodes that hear it. */
  pausesChanged(): void {
    this.#switch?.worker?.nodesChanged();
    void this.#notifier?.nodesChanged();
  }

  /** A key that runs is to run once more. */
  rerunAsked(): void {
    this.#switch?.worker?.reruns.asked();
  }

  /** Asks the attempts that hold these delays to end. */
  async abort(ids: readonly number[]): Promise<void> {
    await this.#switch?.aborts.send(ids);
  }

  /**
   * The application begins to close: ends the worker, handlers in flight first. Callers can still write.
   * @returns how many attempts were given back unfinished
   */
  close(): Promise<number> {
    return (this.#closing ??= this.#close());
  }

  /** Ends all of it; harmless when nothing was started. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #close(): Promise<number> {
    clearTimeout(this.#hooksTimer);
    // At once for what runs; what starts is looked after when it has.
    const closed = this.#switch?.close();
    const running = this.#switch?.worker?.inFlight.size ?? 0;
    this.events.emit('closing', { node: this.options.nodeName, running });
    await this.#whenStarted();
    return (await (closed ?? this.#switch?.close())) ?? 0;
  }

  async #stop(): Promise<void> {
    const unfinished = await this.close();
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

  /** A database that cannot hold all texts is told of once; what it cannot hold is refused, or written in ASCII. */
  #lookAtEncodings({ encoding, clientEncoding }: Findings): void {
    const { nodeName } = this.options;
    if (clientEncoding !== 'UTF8') {
      throw new DelayConfigError(
        `client_encoding is ${clientEncoding} on the sessions of the DataSource, and pg sends UTF8: leave the option out`,
      );
    }
    if (encoding === 'UTF8') return;
    if (storableIn(encoding, nodeName) !== nodeName) {
      throw new DelayConfigError(
        `nodeName: the encoding ${encoding} of this database does not have each of its characters; use ASCII`,
      );
    }
    this.events.emit('advice', {
      message:
        `the encoding of this database is ${encoding}: a payload, key, group or header with a character that it does ` +
        'not have is refused, and error texts are written without it. A database of encoding UTF8 holds all of them',
    });
  }

  async #begin(connections: EngineConnections, found: Findings): Promise<void> {
    const { limits, encoding, advice } = found;
    this.#lookAtEncodings(found);
    for (const message of advice) this.events.emit('advice', { message });
    if (this.#closing !== undefined) return await connections.close();
    const { options, events, registry } = this;
    const notifier = new Notifier(connections, options.schema, events);
    const workers = new WorkerSwitch({ ...this.#parts, connections, notifier, limits, encoding });
    this.afterCommit.start();
    this.#notifier = notifier;
    this.#switch = workers;
    const names = options.worker ? registry.names() : [];
    if (isManual(options)) {
      events.emit('advice', {
        message: "this node runs nothing by itself: its worker is 'manual', which is for tests",
      });
    } else {
      const nodeStore = new NodeStore(connections, options.installation, options.nodeName);
      this.#unserved = new UnservedNames(nodeStore, names, options, events);
    }
    if (workers.hasWork && this.#isWanted) return;
    this.#proveSessions(connections);
    events.emit('ready', { node: options.nodeName, names, worker: false, listens: false });
  }

  get #parts() {
    const { options, dataSource, registry, wheel, events, listed } = this;
    return { options, dataSource, registry, wheel, events, listed };
  }
}

/** So long an application may take from the first delay that it schedules to its hooks. */
const HOOKS_WITHIN_MS = 1_000;

const NO_HOOKS =
  'delays are scheduled here, and no handler runs: the hooks of this application were not called. Call init() or ' +
  'listen() of the application; startAllMicroservices() alone calls none';

const NOT_INITIALIZED =
  'the DataSource is not initialized: await its initialize() where it is provided, in an async useFactory say, or in ' +
  'onModuleInit; TypeOrmModule does so, unless manualInitialization is set';

const notToRun = (worker: false | 'manual'): string =>
  worker === 'manual'
    ? "DelayWorker.run(): the worker of this node is 'manual', so only DelayTesting runs its handlers"
    : 'DelayWorker.run(): this node has worker: false and runs no handlers; to start its worker by hand, ' +
      'give the module autorun: false instead';

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
