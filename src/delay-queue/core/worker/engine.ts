import { Inject, Injectable, Optional } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { DelayConfigError, DelayShutdownError } from '../api/errors.js';
import { DelayEvents } from '../api/events.js';
import type { ClientEngine } from '../client/delay-client.js';
import { hintWakes, Notifier } from '../cluster/notifier.js';
import { SessionProof } from '../cluster/session-proof.js';
import { UnservedNames } from '../cluster/unserved-names.js';
import { nearest } from '../config/known-options.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { DATA_SOURCE } from '../database/chosen-data-source.js';
import type { Runner } from '../database/runner.js';
import { PERMISSION_DENIED, readSqlState, startError } from '../database/driver-errors.js';
import { closeIfOurs } from '../database/pg-data-source.js';
import { postgresDriver } from '../database/postgres-driver.js';
import type { HeldAttempt } from '../client/lock-causes.js';
import { EngineConnections } from '../database/engine-connections.js';
import { HandlerRegistry } from '../handlers/handler.registry.js';
import { NodeStore } from '../store/node.store.js';
import { ZoneStore } from '../store/zone.store.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { checkStart, type StartFindings } from '../store/check-start.js';
import { TestClockStore } from '../store/test-clock.store.js';
import { OwnScope } from '../tasks/own-scope.js';
import { within } from '../tasks/signal.js';
import { WheelService } from '../timer-wheel/wheel.service.js';
import { AfterCommit } from '../transactions/commit-hooks.js';
import type { WrittenAt } from './announcer.js';
import { BUILT, type Built } from './context.js';
import type { WorkerVitals } from './worker.js';
import { STARTS_WITHIN_MS, WorkerSwitch } from './worker-switch.js';
import type { ManualRuns } from './manual-runs.js';
import { isManual } from './test-clock.js';
import { Zones } from './zones.js';

/** Postgres truncates an application's name to this length. */
const APPLICATION_NAME_MAX = 63;

/** What the engine shows of itself; see `DelayHealth`. */
export interface EngineVitals {
  state: 'starting' | 'running' | 'closing' | 'stopped';
  /** Undefined: no worker runs here now. */
  worker: WorkerVitals | undefined;
}

/** Life cycle of the engine: starts at bootstrap, drains before the DataSource closes. */
@Injectable()
export class Engine implements ClientEngine {
  @Optional() @Inject(BUILT) private readonly built: Built = () => {};
  readonly afterCommit: AfterCommit;
  /** Where its statements run; undefined before its start. */
  connections: EngineConnections | undefined;
  #notifier: Notifier | undefined;
  #unserved: UnservedNames | undefined;
  #zones: Zones | undefined;
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
  ) {
    this.afterCommit = new AfterCommit(dataSource);
    this.#isWanted = options.autorun || isManual(options);
  }

  /**
   * Starts everything except the worker.
   * @throws DelayConfigError when the database or the pool cannot do what the options ask for
   */
  @OwnScope
  start(): Promise<void> {
    return (this.#starting = this.#start());
  }

  async #start(): Promise<void> {
    const { options, isInitialized } = this.dataSource;
    if (options.type !== 'postgres') {
      throw new DelayConfigError(`the DataSource must be of type postgres, not ${options.type}`);
    }
    // Settings come from the pool. Without one, PGHOST and the like would decide where to connect.
    if (!isInitialized) throw new DelayConfigError(NOT_INITIALIZED);
    if (typeof postgresDriver(this.dataSource).master?.off !== 'function') {
      throw new DelayConfigError(NO_POOL_OF_PG);
    }
    const name = `delay-queue ${this.options.nodeName}`.slice(0, APPLICATION_NAME_MAX);
    const connections = new EngineConnections(this.dataSource, this.options.connections, name, {
      max: this.options.transactionalConnections,
      idleMs: this.options.leaseMs,
    });
    this.connections = connections;
    this.built(this, connections);
    try {
      void connections.openEarly().then((message) => {
        if (message !== undefined) this.events.emit('advice', { message });
      });
      // In a transaction: a pooler in statement mode lends no session for one.
      const findings = await connections.inTransaction((runner) =>
        checkStart(runner, this.options.schema, options.schema),
      );
      await createClock(connections, this.options);
      await this.#begin(connections, findings);
    } catch (error) {
      await connections.close();
      // After a failed start Nest calls no hook.
      await closeIfOurs(this.dataSource);
      throw startError(error, this.options.schema);
    }
  }

  hooksAreCalled(): void {
    this.#areHooksCalled = true;
    clearTimeout(this.#hooksTimer);
  }

  /** A call makes a delay recur in that zone. */
  @OwnScope
  usesZone(zone: string): void {
    if (this.#closing === undefined) this.#zones?.used(zone);
  }

  /** Advises if a delay was scheduled here and the hooks of the application do not follow. */
  scheduled(): void {
    if (this.#areHooksCalled || this.#hooksTimer !== undefined) return;
    if (this.options.worker === false) return;
    this.#hooksTimer = setTimeout(() => {
      this.events.emit('advice', { message: NO_HOOKS });
    }, HOOKS_WITHIN_MS).unref();
  }

  /** All providers have bootstrapped, so the worker may claim: runs it if it is wanted. */
  @OwnScope
  async bootstrapped(): Promise<void> {
    this.#isBootstrapped = true;
    if (!this.#isWanted || this.#closing !== undefined) return;
    try {
      await this.#switch?.run();
    } catch (error) {
      await this.connections?.close();
      throw startError(error, this.options.schema);
    }
  }

  /**
   * Starts the worker now, or with the application if that has not bootstrapped yet.
   * @throws DelayConfigError this node has no worker
   * @throws DelayShutdownError the application is closing
   */
  @OwnScope
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

  @OwnScope
  async endRun(): Promise<void> {
    this.#isWanted = isManual(this.options);
    if (!isManual(this.options)) await this.#switch?.stop();
  }

  /** Whether a worker runs here and is not about to end. */
  get isRunning(): boolean {
    const worker = this.#switch?.worker;
    return worker !== undefined && worker.hasStarted && !worker.isShut;
  }

  /** What tells whether this node works. */
  get vitals(): EngineVitals {
    const worker = this.#switch?.worker;
    const isOver = this.#closing !== undefined;
    return {
      state: this.#stopped !== undefined ? 'stopped' : isOver ? 'closing' : this.#startState,
      worker: worker?.hasStarted && !worker.isShut ? worker.vitals : undefined,
    };
  }

  /** A worker that is wanted and has work belongs to the start. */
  get #startState(): 'starting' | 'running' {
    const workers = this.#switch;
    if (workers === undefined) return 'starting';
    const isAwaited = this.#isWanted && workers.hasWork && !workers.worker?.hasStarted;
    return isAwaited ? 'starting' : 'running';
  }

  held(id: number): HeldAttempt | undefined {
    const attempt = this.#switch?.worker?.parts.jobs.runs(id);
    return attempt && { hasCalled: !Number.isNaN(attempt.calledAtMs), pid: attempt.holder.pid };
  }

  get handlersPids(): number[] {
    return this.connections?.handlersPids ?? [];
  }

  /** Where callers' statements can be prepared; undefined: nowhere. */
  get callers(): EngineConnections['callers'] {
    return this.connections?.callers;
  }

  /**
   * A write was committed: arms the delay here, or hints its owner.
   * @param certain false when a savepoint may have taken the write back
   */
  announce(wake: Wake, written: WrittenAt, certain: boolean): void {
    this.#unserved?.written(wake.name);
    this.#switch?.announcer.announce(wake, written, certain ? 'confirmed' : 'hinted');
  }

  hintInside(
    runner: Runner,
    written: readonly { wake: Wake; nowMs: number }[],
  ): Promise<void> | undefined {
    const { horizonMs, idleForMs, schema } = this.options;
    const nearMs = Math.max(horizonMs, idleForMs ?? 0);
    const near = written.filter(({ wake, nowMs }) => wake.wakeMs <= nowMs + nearMs);
    if (near.length === 0) return undefined;
    const wakes = near.map(({ wake }) => wake);
    return hintWakes(runner, schema, wakes).catch(() => {});
  }

  /** Set once a node with a `manual` worker has started. */
  get manual(): ManualRuns | undefined {
    return this.#switch?.worker?.manual;
  }

  disarm(id: number): void {
    this.#switch?.worker?.parts.queue.disarm(id);
  }

  /** Names or groups were paused or resumed: applies it here at once, and hints the other nodes. */
  pausesChanged(): void {
    this.#switch?.worker?.parts.loader.nodesChanged();
    void this.#notifier?.nodesChanged();
  }

  /** A rerun was requested for a key that runs now; its run may have ended meanwhile. */
  rerunAsked(): void {
    this.#switch?.worker?.parts.reruns.runNow();
  }

  /** Asks the attempts that hold these delays to end. */
  async abort(ids: readonly number[]): Promise<void> {
    await this.#switch?.aborts.send(ids);
  }

  /**
   * Ends the worker, handlers in flight first. Callers can still write.
   * @returns how many attempts were given back unfinished
   */
  @OwnScope
  close(): Promise<number> {
    return (this.#closing ??= this.#close());
  }

  /** Harmless when nothing was started. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #close(): Promise<number> {
    clearTimeout(this.#hooksTimer);
    // A running worker begins to close at once, a starting one after its start.
    const closed = this.#switch?.close();
    const running = this.#switch?.worker?.parts.jobs.runningCount ?? 0;
    this.events.emit('closing', { node: this.options.nodeName, running });
    await this.#whenStarted();
    return (await (closed ?? this.#switch?.close())) ?? 0;
  }

  async #stop(): Promise<void> {
    const unfinished = await this.close();
    await this.#notifier?.drain();
    await this.#proof?.stop();
    await Promise.all([this.#unserved?.stop(), this.#zones?.stop()]);
    this.afterCommit.stop();
    await this.connections?.close();
    this.events.emit('stopped', { node: this.options.nodeName, unfinished });
  }

  /** Waits for a start: a half-started engine cannot be drained. */
  async #whenStarted(): Promise<void> {
    if (this.#starting === undefined) return;
    const started = this.#starting.catch(() => {});
    await within(started, STARTS_WITHIN_MS);
  }

  /** In the background: until it is proven, callers use the application's pool. */
  #proveSessions(connections: EngineConnections): void {
    this.#proof = new SessionProof(connections, this.options.schema);
    void this.#proof.answered.then((stay) => {
      if (stay) connections.prepareStatements();
    });
  }

  async #begin(connections: EngineConnections, found: StartFindings): Promise<void> {
    const { limits, advice } = found;
    for (const message of advice) this.events.emit('advice', { message });
    if (this.#closing !== undefined) return await connections.close();
    const { options, events, registry } = this;
    const notifier = new Notifier(connections, options.schema, events);
    this.built(notifier);
    const zones = new Zones(new ZoneStore(connections, options.installation), events);
    this.#zones = zones;
    const { dataSource, wheel, built } = this;
    const own = { options, dataSource, registry, wheel, events, built };
    const workers = new WorkerSwitch({ ...own, connections, notifier, zones, limits });
    this.afterCommit.start();
    this.#notifier = notifier;
    this.#switch = workers;
    const names = options.worker ? registry.names() : [];
    if (isManual(options)) {
      events.emit('advice', {
        message: "this node runs handlers only when a test asks for it: its worker is 'manual'",
      });
    } else {
      const meant = (name: string) => nearest(name, registry.names(), maxTypos(name));
      const nodeStore = new NodeStore(connections, options.installation, options.nodeName);
      this.built(nodeStore);
      this.#unserved = new UnservedNames(nodeStore, names, meant, options, events);
      for (const name of options.historyKeeps.at(-1)?.names ?? []) {
        const other = meant(name) ?? name;
        if (other === name) continue;
        const message = `history.names: no handler here is named ${name}. Did you mean ${other}?`;
        events.emit('advice', { message });
      }
    }
    if (workers.hasWork && this.#isWanted) return;
    this.#proveSessions(connections);
    events.emit('ready', { node: options.nodeName, names, worker: false, listens: false });
  }
}

/** Letters by which a misspelled name may differ from the one that was meant. */
const maxTypos = (name: string): number => Math.min(2, Math.floor(name.length / 4));

/** How long the first scheduled delay may come before the hooks of the application. */
const HOOKS_WITHIN_MS = 1_000;

const NO_HOOKS =
  'delays are scheduled here, but no handler runs: the hooks of this application were not called. Call init() or ' +
  'listen() on the application; startAllMicroservices() alone does not call them';

const NO_POOL_OF_PG =
  'the pool of the DataSource is not one of pg, as with pg-mem, and delays need a real Postgres: test with one, or ' +
  'without a database by provideDelayStub() of nestjs-delay-queue/testing';

const NOT_INITIALIZED =
  'the DataSource is not initialized: await its initialize() where it is provided (in an async useFactory, for ' +
  'example) or in onModuleInit; TypeOrmModule does so unless manualInitialization is set';

const notToRun = (worker: false | 'manual'): string =>
  worker === 'manual'
    ? "DelayWorker.run(): the worker of this node is 'manual', so only DelayTesting runs its handlers"
    : 'DelayWorker.run(): this node has worker: false and runs no handlers; to start the worker yourself, ' +
      'set autorun: false instead';

/** Creates the test clock of a schema under test. A production schema has none. */
async function createClock(
  connections: EngineConnections,
  { installation }: ResolvedOptions,
): Promise<void> {
  if (installation.clock === 'database') return;
  try {
    await new TestClockStore(connections, installation).create();
  } catch (error) {
    if (readSqlState(error) !== PERMISSION_DENIED) throw error;
    throw new DelayConfigError(
      `${(error as Error).message}. A node under test creates a clock in the schema ${installation.schema}: run the tests ` +
        'as the role that owns it',
      { cause: error },
    );
  }
}
