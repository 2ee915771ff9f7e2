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
import { RerunStore } from '../store/many.store.js';
import { NodeStore } from '../store/node.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/presence.js';
import { TestClockStore } from '../store/test-clock.store.js';
import { Idle, type Paced } from '../tasks/recurring-task.js';
import type { WheelService } from '../timer-wheel/wheel.service.js';
import { AbortWatch } from './abort-watch.js';
import { handlersShareOf, Reservations } from './admission.js';
import { Claimer, SetAside } from './claimer.js';
import { InFlight, LostClaims } from './claims.js';
import { Completer } from './completer.js';
import { DyingDelays } from './dead-letters.js';
import { Declarations } from './declarations.js';
import { Dispatcher } from './dispatcher.js';
import { Executor } from './executor.js';
import { IsolationLevel } from './fenced-transaction.js';
import { HintedRows } from './hinted-rows.js';
import { Announcer, followHearing, takeHints, tellOfPlaces } from './hints.js';
import { Intake } from './intake.js';
import { LeaseKeeper } from './lease-keeper.js';
import { ClaimSizes, ConcurrencyLimits, Throttles } from './limits.js';
import { Loader } from './loader.js';
import { isManual, ManualRuns, TestClock } from './manual-runs.js';
import { MissedClaims } from './missed-claims.js';
import { type Pruner, prunersOf } from './pruner.js';
import { Reruns } from './reruns.js';
import { Scanner } from './scanner.js';
import { WaitingCalls } from './waiting-calls.js';

/** How long the last acknowledgements may take once the handlers have ended. */
const ACKNOWLEDGE_WITHIN_MS = 5_000;

interface WorkerParts {
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
}

/** The half of the engine that runs handlers: wired here, begun and drained as one. */
export class Worker {
  readonly intake: Intake;
  /** Whether it leaves the database alone. */
  readonly idle: Idle;
  /** Of a node that runs nothing by itself. */
  readonly manual: ManualRuns | undefined;
  readonly #store: NodeStore;
  readonly inFlight = new InFlight();
  readonly reruns: Reruns;
  readonly #completer: Completer;
  readonly #executor: Executor;
  readonly #dying: DyingDelays;
  readonly #dispatcher: Dispatcher;
  readonly #scanner: Scanner;
  readonly #loader: Loader;
  readonly #listener: HintListener;
  readonly #aborts: AbortWatch;
  readonly #hintedRows: HintedRows;
  readonly #hinted: Paced[];
  readonly #leaseKeeper: LeaseKeeper;
  readonly #pruners: Pruner[];
  readonly #declarations: Declarations;
  readonly #blocks: Throttles;
  #hasStarted = false;
  #claimsAnswered: Promise<void> | undefined;
  #drained: Promise<number> | undefined;

  /**
   * From what is known of others to what is written last: who listens comes after whom it listens to.
   * @throws DelayConfigError when the application's pool is too small for its handlers
   */
  constructor(private readonly parts: WorkerParts) {
    const { options, registry, events, wheel, connections, nodes, dataSource } = parts;
    const {
      schema,
      installation,
      nodeName,
      leaseMs,
      historyKept: kept,
      horizonMs,
      concurrency,
    } = options;
    const idle = new Idle(options.idleForMs);
    this.idle = idle;
    const listener = new HintListener(connections, schema, nodeName, events, idle);
    const { processLock } = listener;
    const store = new AttemptStore(
      connections,
      installation,
      kept,
      nodeName,
      processLock,
      parts.encoding,
    );
    const nodeStore = new NodeStore(connections, installation, nodeName);
    const tested = isManual(options)
      ? new TestClock(new TestClockStore(connections, installation))
      : undefined;
    const clock = tested ?? new DatabaseClock();
    const lost = new LostClaims();
    const { inFlight } = this;
    const aliveMs = options.loadEveryMs * LOADS_MISSED_MAX;
    const completer = new Completer(store, connections, events, aliveMs);
    completer.unread.passed.on((wake) => parts.notifier.sendPassed(wake));
    const { hints } = listener;
    const claims = { inFlight, completer, lost };
    const limits = { claimBatch: Math.max(options.claimBatch, registry.batchMax), horizonMs };
    const intake = new Intake(wheel, clock, nodes, claims, limits);
    const lock = processLock.number;
    this.#scanner = new Scanner(nodeStore, nodes, leaseMs, intake, lock, events, idle);
    this.#loader = new Loader(nodeStore, nodes, clock, options, intake, listener, idle, events);
    this.#aborts = new AbortWatch(store, inFlight, events);
    this.#hintedRows = new HintedRows(store, intake, horizonMs, events);
    const loads = takeHints(hints, {
      intake,
      loader: this.#loader,
      rows: this.#hintedRows,
      aborts: this.#aborts,
      nodes,
      clock,
      idle,
      options,
    });

    const share = handlersShareOf(connections.applicationPoolMax, registry, concurrency, events);
    const places = new ConcurrencyLimits(registry, share, events);
    const fenced = { dataSource, store, engine: connections, isolation: new IsolationLevel() };
    this.#executor = new Executor(wheel, fenced, completer, inFlight, places, events);
    this.#dying = new DyingDelays({ ...claims, wheel, fenced, store, registry, places, events });
    const limited = new LimitStore(connections, installation, kept, nodeName, processLock);
    const blocks = new Throttles(wheel, tested && (() => tested.nowMs()));
    this.#blocks = blocks;
    const leaseOf = (name: string) => registry.get(name)?.leaseMs ?? leaseMs;
    const sizes = new ClaimSizes(limits.claimBatch, leaseOf);
    const setAside = new SetAside(store, events);
    intake.unreadable.on((id) => void setAside.unreadable(id));
    clock.jumped.on(() => blocks.clear());
    const reservations = new Reservations(places, registry, options, blocks, sizes, intake);
    this.#dispatcher = new Dispatcher(
      intake,
      reservations,
      new Claimer(
        store,
        limited,
        blocks,
        registry,
        clock,
        intake,
        completer,
        lost,
        sizes,
        setAside,
        events,
      ),
      new MissedClaims(
        store,
        registry,
        intake,
        lost,
        this.#dying,
        completer.waits,
        setAside,
        events,
      ),
      new WaitingCalls(reservations, this.#executor, inFlight),
      completer,
    );
    const { freed } = completer;
    const vacancies = tellOfPlaces({ freed, hints, blocks, nodes, notifier: parts.notifier });
    this.#hinted = [loads, vacancies];
    const declarations = new Declarations(connections, options, registry, events, idle);
    this.#declarations = declarations;
    this.reruns = this.#rerunsOf(connections, intake, completer);
    const { reruns } = this;
    const on = { ...claims, intake, blocks, declarations, reruns };
    const runs = { ...on, dispatcher: this.#dispatcher, loader: this.#loader };
    this.manual = tested && new ManualRuns({ ...runs, clock: tested }, connections);
    this.#leaseKeeper = new LeaseKeeper(store, inFlight, completer.unwritten, leaseMs, events);
    this.#pruners = prunersOf(nodeStore, options.historyKeepMs, events, idle);
    this.#store = nodeStore;
    this.#completer = completer;
    this.#listener = listener;
    this.intake = intake;
  }

  #rerunsOf(connections: EngineConnections, intake: Intake, completer: Completer): Reruns {
    const { options, events, nodes, notifier } = this.parts;
    const store = new RerunStore(options.installation, options.historyKept);
    const reruns = new Reruns(store, connections, options.loadEveryMs, events, this.idle);
    if (isManual(options)) return reruns;
    const announcer = new Announcer(nodes, notifier, options, { intake, idle: this.idle });
    reruns.placed.on(({ wake, nowMs }) =>
      announcer.announce(wake, { databaseMs: nowMs, monotonicMs: performance.now() }, 'read'),
    );
    completer.wrote.on(() => reruns.ended());
    return reruns;
  }

  /** @returns whether LISTEN works */
  async start(): Promise<boolean> {
    const { options, notifier } = this.parts;
    const listens = await this.#listener.start();
    followHearing({ ...this.parts, listener: this.#listener, loader: this.#loader });
    if (this.manual !== undefined) {
      this.#loader.onlyBeat();
      await this.manual.clock.read();
    }
    try {
      await this.#loader.join();
    } catch (error) {
      await this.#listener.stop();
      throw error;
    }
    await this.#declarations.start();
    this.#loader.start();
    this.#leaseKeeper.start();
    this.#aborts.start();
    if (this.manual === undefined && !this.isShut) {
      this.intake.open();
      this.#scanner.start();
      this.reruns.start();
      for (const pruner of this.#pruners) pruner.start();
    }
    await notifier.nodesChanged(options.nodeName);
    this.#hasStarted = true;
    return listens;
  }

  /** Whether its start is over: only then it can be drained. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** Whether it claims no more. */
  get isShut(): boolean {
    return this.#claimsAnswered !== undefined;
  }

  /** Looks what is this node's by now. */
  nodesChanged(): void {
    this.#loader.nodesChanged();
  }

  /**
   * From this moment on nothing is claimed, no handler is called, those that run are told to give up, and whichever
   * fails loses no attempt.
   */
  shut(): void {
    if (this.#claimsAnswered !== undefined) return;
    this.manual?.end();
    this.#claimsAnswered = this.#dispatcher.stop();
    this.#dying.shut();
    this.inFlight.close();
  }

  /**
   * Claims nothing more, waits for the handlers in flight, gives back the rest without spending an
   * attempt, writes everything down, says goodbye.
   *
   * @returns how many attempts were given back unfinished
   */
  drain(): Promise<number> {
    this.shut();
    return (this.#drained ??= this.#drain());
  }

  async #drain(): Promise<number> {
    await this.#declarations.stop();
    const tasks = [this.#loader, this.#scanner, this.#hintedRows, this.reruns, ...this.#pruners];
    for (const each of this.#hinted) each.stop();
    await Promise.all(tasks.map((each) => each.stop()));
    await this.#listener.retire();
    await this.#claimsAnswered;
    this.intake.close();
    await this.inFlight.whenIdle(this.parts.options.drainTimeoutMs);
    await this.#dying.drain(ACKNOWLEDGE_WITHIN_MS);
    const unfinished = this.inFlight.all();
    for (const attempt of unfinished) attempt.holder.release(attempt);
    await this.inFlight.whenIdle(ACKNOWLEDGE_WITHIN_MS);
    await this.#completer.drain(ACKNOWLEDGE_WITHIN_MS);
    this.#completer.close();
    await this.#leaseKeeper.stop();
    await this.#aborts.stop();
    await this.#listener.stop();
    for (const each of [this.#executor, this.#dying, this.#blocks]) each.close();
    await this.#leave();
    return unfinished.length;
  }

  async #leave(): Promise<void> {
    try {
      await this.#store.leave();
      await this.parts.notifier.nodesChanged();
    } catch (error) {
      // The others find out when the heartbeats stay away.
      this.parts.events.emit('trouble', { during: 'leave', error });
    }
  }
}
