import { Inject, Injectable, Optional } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { DelayConfigError, DelayShutdownError } from '../api/errors.js';
import type { DelayEvents } from '../api/events.js';
import type { ClientEngine } from '../client/delay-client.js';
import { hintWakes } from '../cluster/notifier.js';
import { SessionProof } from '../cluster/session-proof.js';
import { UnservedNames } from '../cluster/unserved-names.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { EVENTS, WHEEL } from '../config/queue-names.js';
import { DATA_SOURCE } from '../database/chosen-data-source.js';
import type { EngineConnections } from '../database/engine-connections.js';
import { HandlerRegistry } from '../handlers/handler.registry.js';
import { NodeStore } from '../store/node.store.js';
import { OwnScope } from '../tasks/own-scope.js';
import { within } from '../tasks/signal.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import { AfterCommit } from '../transactions/commit-hooks.js';
import { BUILT, type Built } from '../worker/context.js';
import { createConnections, openDatabase, suggest } from './start.js';
import { STARTS_WITHIN_MS, WorkerSwitch } from './worker-switch.js';

type EngineArguments<Name extends 'announce' | 'hintInside'> = Parameters<ClientEngine[Name]>;

/** Life cycle of the engine: starts at bootstrap, drains before the DataSource closes. */
@Injectable()
export class Engine implements ClientEngine {
  @Optional() @Inject(BUILT) private readonly built: Built = () => {};
  readonly afterCommit: AfterCommit;
  /** Where its statements run; undefined before its start. */
  connections: EngineConnections | undefined;
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
    @Inject(WHEEL) private readonly wheel: WheelService,
    @Inject(EVENTS) private readonly events: DelayEvents,
  ) {
    this.afterCommit = new AfterCommit(dataSource);
    this.#isWanted = options.autorun || options.worker === 'manual';
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
    const { dataSource, options, events } = this;
    const connections = createConnections(dataSource, options);
    this.connections = connections;
    this.built(this, connections);
    await openDatabase(dataSource, connections, options, events, (limits) =>
      this.#begin(connections, limits),
    );
  }

  hooksAreCalled(): void {
    this.#areHooksCalled = true;
    clearTimeout(this.#hooksTimer);
  }

  /** A call makes a delay recur in that zone. */
  @OwnScope
  usesZone(zone: string): void {
    if (this.#closing === undefined) this.#switch?.zones.used(zone);
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
      throw error;
    }
  }

  /**
   * Starts the worker now, or with the application if that has not bootstrapped yet.
   * @throws DelayConfigError this node has no worker
   * @throws DelayShutdownError the application is closing
   */
  @OwnScope
  async run(): Promise<void> {
    const { worker } = this.options;
    if (worker !== true) throw new DelayConfigError(notToRun(worker));
    if (this.#closing !== undefined) throw new DelayShutdownError();
    this.#isWanted = true;
    if (this.#isBootstrapped) await this.#switch?.run();
  }

  @OwnScope
  async endRun(): Promise<void> {
    this.#isWanted = this.options.worker === 'manual';
    if (!this.#isWanted) await this.#switch?.stop();
  }

  /** Whether a worker runs here and is not about to end. */
  get isRunning(): boolean {
    return this.#switch?.vitals !== undefined;
  }

  /** What the engine shows of itself; see `DelayHealth`. */
  get vitals() {
    const isOver = this.#closing !== undefined;
    const state = this.#stopped !== undefined ? 'stopped' : isOver ? 'closing' : this.#startState;
    /** Undefined: no worker runs here now. */
    return { state, worker: this.#switch?.vitals } as const;
  }

  /** A worker that is wanted and has work belongs to the start. */
  get #startState(): 'starting' | 'running' {
    const workers = this.#switch;
    if (workers === undefined) return 'starting';
    const isAwaited = this.#isWanted && workers.hasWork && !workers.worker?.hasStarted;
    return isAwaited ? 'starting' : 'running';
  }

  held(id: number): ReturnType<ClientEngine['held']> {
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
  announce(...[wake, written, certain]: EngineArguments<'announce'>): void {
    this.#unserved?.written(wake.name);
    this.#switch?.announcer.announce(wake, written, certain ? 'confirmed' : 'hinted');
  }

  hintInside(...[runner, written]: EngineArguments<'hintInside'>): Promise<void> | undefined {
    const { horizonMs, idleForMs, schema } = this.options;
    const nearMs = Math.max(horizonMs, idleForMs ?? 0);
    const near = written.filter(({ wake, nowMs }) => wake.wakeMs <= nowMs + nearMs);
    if (near.length === 0) return undefined;
    const wakes = near.map(({ wake }) => wake);
    return hintWakes(runner, schema, wakes).catch(() => {});
  }

  /** Set once a node with a `manual` worker has started. */
  get manual() {
    return this.#switch?.worker?.manual;
  }

  disarm(id: number): void {
    this.#switch?.worker?.parts.queue.disarm(id);
  }

  /** Names or groups were paused or resumed: applies it here at once, and hints the other nodes. */
  pausesChanged(): void {
    this.#switch?.worker?.parts.loader.nodesChanged();
    void this.#switch?.notifier.nodesChanged();
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
    await this.#switch?.notifier.drain();
    await this.#proof?.stop();
    await Promise.all([this.#unserved?.stop(), this.#switch?.zones.stop()]);
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

  async #begin(connections: EngineConnections, limits: string | null): Promise<void> {
    if (this.#closing !== undefined) return await connections.close();
    const { options, dataSource, registry, wheel, events, built } = this;
    const setup = { options, dataSource, registry, wheel, events, built, connections };
    const workers = new WorkerSwitch({ ...setup, limits });
    this.afterCommit.start();
    this.#switch = workers;
    const names = options.worker ? registry.names() : [];
    if (options.worker === 'manual') {
      events.emit('advice', {
        message: "this node runs handlers only when a test asks for it: its worker is 'manual'",
      });
    } else {
      this.#adviseOnNames(connections, names);
    }
    if (workers.hasWork && this.#isWanted) return;
    this.#proveSessions(connections);
    events.emit('ready', { node: options.nodeName, names, worker: false, listens: false });
  }

  /** Of delays that are scheduled here, and of the option `history.names`. */
  #adviseOnNames(connections: EngineConnections, own: readonly string[]): void {
    const { options, registry, events } = this;
    const meant = (name: string) => suggest(name, registry.names());
    const nodeStore = new NodeStore(connections, options.installation, options.nodeName);
    this.built(nodeStore);
    this.#unserved = new UnservedNames(nodeStore, own, meant, options, events);
    for (const name of options.historyKeeps.at(-1)?.names ?? []) {
      const other = meant(name) ?? name;
      if (other === name) continue;
      const message = `history.names: no handler here is named ${name}. Did you mean ${other}?`;
      events.emit('advice', { message });
    }
  }
}

/** How long the first scheduled delay may come before the hooks of the application. */
const HOOKS_WITHIN_MS = 1_000;

const NO_HOOKS =
  'delays are scheduled here, but no handler runs: the hooks of this application were not called. Call init() or ' +
  'listen() on the application; startAllMicroservices() alone does not call them';

const notToRun = (worker: false | 'manual'): string =>
  worker === 'manual'
    ? "DelayWorker.run(): the worker of this node is 'manual', so only DelayTesting runs its handlers"
    : 'DelayWorker.run(): this node has worker: false and runs no handlers; to start the worker yourself, ' +
      'set autorun: false instead';
