import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../delay-queue.options.js';
import { DelayConfigError, DelayShutdownError } from '../delay.errors.js';
import { DelayEvents } from '../delay.events.js';
import { HandlerRegistry } from '../handlers/handler.registry.js';
import { WorkStore } from '../store/work.store.js';
import { DatabaseClock } from '../wheel/database-clock.js';
import { WheelService } from '../wheel/wheel.service.js';
import { Acknowledger } from './acknowledger.js';
import { AfterCommit } from './after-commit.js';
import { Announcer } from './announcer.js';
import { Dispatcher } from './dispatcher.js';
import { EngineConnections } from './engine-connections.js';
import { Executor } from './executor.js';
import type { Hint } from './hint.js';
import { HintListener } from './hint-listener.js';
import { HintSender } from './hint-sender.js';
import { InFlight } from './in-flight.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Loader } from './loader.js';
import { Missed } from './missed.js';
import { Nodes } from './nodes.js';
import { preflight } from './preflight.js';
import { Pruner } from './pruner.js';
import { ReadAhead } from './read-ahead.js';
import { ReadyQueue } from './ready-queue.js';
import { Slots } from './slots.js';
import { Sweeper } from './sweeper.js';
import type { Wake } from '../store/work.store.js';

/** Entries of the read-ahead: at 1,000 delays per second a horizon of 30 s holds 30,000. */
const READ_AHEAD_MAX = 200_000;

/** Loads without LISTEN come this often: the loader alone has to find what is due soon. */
const LOAD_WITHOUT_LISTEN_MS = 1_000;

/** How long the last acknowledgements may take once the handlers have ended. */
const ACKNOWLEDGE_WITHIN_MS = 5_000;

/** Nodes not seen for a day leave no trace. */
const STALE_NODE_MS = 24 * 60 * 60 * 1_000;

/** What only a node that runs handlers has. */
interface Worker {
  readAhead: ReadAhead;
  dispatcher: Dispatcher;
  executor: Executor;
  acknowledger: Acknowledger;
  leaseKeeper: LeaseKeeper;
  loader: Loader;
  sweeper: Sweeper;
  pruner: Pruner | undefined;
  listener: HintListener;
  inFlight: InFlight;
  store: WorkStore;
}

/** The engine's life: wired and started at bootstrap, drained before the DataSource closes. */
@Injectable()
export class Engine {
  readonly afterCommit: AfterCommit;
  #connections: EngineConnections | undefined;
  #hints: HintSender | undefined;
  #announcer: Announcer | undefined;
  #worker: Worker | undefined;

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly dataSource: DataSource,
    private readonly registry: HandlerRegistry,
    private readonly wheel: WheelService,
    private readonly events: DelayEvents,
  ) {
    this.afterCommit = new AfterCommit(dataSource);
  }

  /** @throws DelayConfigError when the database or the pool cannot do what is asked */
  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      await this.#connections?.close();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const { options, events } = this;
    if (this.dataSource.options.type !== 'postgres') {
      throw new DelayConfigError(
        `the DataSource must be of type postgres, not ${this.dataSource.options.type}`,
      );
    }
    const name = `delay-queue ${options.nodeName}`.slice(0, 63);
    const connections = new EngineConnections(this.dataSource, options.connections, name);
    this.#connections = connections;
    await preflight(connections, options.schema);
    this.afterCommit.start();
    this.#hints = new HintSender(connections, options.schema, events);
    const names = options.worker ? this.registry.names() : [];
    const nodes = new Nodes(options.nodeName, names);
    if (names.length > 0) this.#worker = this.#wire(connections, nodes);
    const offer = (wake: Wake): boolean => this.#worker?.dispatcher.offer(wake) ?? true;
    this.#announcer = new Announcer(nodes, this.#hints, options.horizonMs, offer);
    const listens = this.#worker ? await this.#begin(this.#worker) : false;
    events.emit('ready', { node: options.nodeName, names, worker: names.length > 0, listens });
  }

  /** A write was committed: this node, or its owner, keeps an eye on it. */
  announce(wake: Wake, nowMs: number): void {
    this.#announcer?.announce(wake, nowMs);
  }

  /** The row of that id is gone. */
  disarm(id: number): void {
    this.#worker?.readAhead.disarm(id);
  }

  /**
   * Ends well: no new claim, time for the handlers in flight, the rest given back without losing an
   * attempt, everything acknowledged, goodbye to the others.
   */
  async stop(): Promise<void> {
    const unfinished = this.#worker ? await this.#drain(this.#worker) : 0;
    await this.#hints?.drain();
    this.afterCommit.stop();
    await this.#connections?.close();
    this.events.emit('stopped', { node: this.options.nodeName, unfinished });
  }

  #wire(connections: EngineConnections, nodes: Nodes): Worker {
    const { options, registry, events, wheel } = this;
    const withHistory = options.historyKeepMs !== null;
    const store = new WorkStore(connections, options.schema, withHistory, options.nodeName);
    const clock = new DatabaseClock();
    const inFlight = new InFlight();
    const ready = new ReadyQueue();
    const slots = new Slots(registry, this.#transactionalMax(connections));
    const offer = (wake: Wake): boolean => dispatcher.offer(wake);
    const readAhead = new ReadAhead(wheel, clock, READ_AHEAD_MAX, (due) => dispatcher.due(due));
    const acknowledger = new Acknowledger(store, events, (wake) => {
      if (wake.wakeMs - clock.nowMs() <= options.horizonMs) offer(wake);
    });
    const fenced = { dataSource: this.dataSource, store, engine: connections };
    const executor = new Executor(wheel, fenced, acknowledger, slots, events);
    const missed = new Missed(store, registry, readAhead, events);
    const dispatcher: Dispatcher = new Dispatcher(
      {
        store,
        registry,
        clock,
        slots,
        ready,
        readAhead,
        missed,
        inFlight,
        executor,
        acknowledger,
        events,
      },
      options.claimBatch,
      () => sweeper.hungry(),
    );
    const sweeper: Sweeper = new Sweeper(
      store,
      nodes,
      options.leaseMs / 2,
      dispatcher,
      offer,
      events,
    );
    const limits = { horizonMs: options.horizonMs, loadEveryMs: options.loadEveryMs };
    const loader = new Loader(store, nodes, clock, limits, offer, events);
    clock.onJump(() => {
      readAhead.realign();
      loader.kick();
    });
    const hear = (hint: Hint): void => {
      if (hint.kind === 'nodes') loader.kick();
      else if (hint.kind === 'wakes') {
        for (const wake of hint.wakes) if (nodes.owns(wake.id, wake.name)) offer(wake);
      }
    };
    return {
      readAhead,
      dispatcher,
      executor,
      acknowledger,
      loader,
      sweeper,
      inFlight,
      store,
      leaseKeeper: new LeaseKeeper(store, inFlight, options.leaseMs, events),
      pruner:
        options.historyKeepMs === null
          ? undefined
          : new Pruner(store, options.historyKeepMs, events),
      listener: new HintListener(connections, options.schema, hear, events),
    };
  }

  /** @returns whether LISTEN works */
  async #begin(worker: Worker): Promise<boolean> {
    await worker.loader.join();
    const listens = await worker.listener.start();
    if (!listens) {
      worker.loader.loadEvery(Math.min(this.options.loadEveryMs, LOAD_WITHOUT_LISTEN_MS));
      this.events.emit('advice', {
        message:
          'LISTEN does not work on this connection (a pooler in transaction mode?); ' +
          `delays that other nodes schedule are loaded every ${LOAD_WITHOUT_LISTEN_MS} ms instead`,
      });
    }
    worker.loader.start();
    worker.sweeper.start();
    worker.leaseKeeper.start();
    worker.pruner?.start();
    await this.#hints?.nodesChanged();
    return listens;
  }

  async #drain(worker: Worker): Promise<number> {
    await Promise.all([worker.loader.stop(), worker.sweeper.stop(), worker.pruner?.stop()]);
    await worker.listener.stop();
    await worker.dispatcher.stop();
    worker.readAhead.close();
    for (const attempt of worker.inFlight.all()) {
      attempt.closing = true;
      attempt.abort(new DelayShutdownError());
    }
    await worker.inFlight.whenIdle(this.options.drainTimeoutMs);
    const unfinished = worker.inFlight.all();
    for (const attempt of unfinished) attempt.cut({ kind: 'released' });
    await worker.inFlight.whenIdle(ACKNOWLEDGE_WITHIN_MS);
    await worker.acknowledger.drain(ACKNOWLEDGE_WITHIN_MS);
    worker.acknowledger.close();
    await worker.leaseKeeper.stop();
    worker.executor.close();
    await this.#leave(worker);
    return unfinished.length;
  }

  async #leave(worker: Worker): Promise<void> {
    try {
      await worker.store.leave(STALE_NODE_MS);
      await this.#hints?.nodesChanged();
    } catch (error) {
      // The others find out when the heartbeats stay away.
      this.events.emit('trouble', { during: 'leave', error });
    }
  }

  /**
   * Transactional handlers hold a connection of the application's pool each. A fifth of it, one at
   * least, stays with the application: a handler that wants a second one must be able to get it.
   */
  #transactionalMax(connections: EngineConnections): number {
    const poolMax = connections.applicationPoolMax;
    const max = poolMax - Math.max(1, Math.ceil(poolMax / 5));
    const handlers = this.registry.all().filter((handler) => handler.transactional);
    if (handlers.length > 0 && max < 1) {
      throw new DelayConfigError(
        `transactional handlers need a pool of at least 2 connections (extra.max), not ${poolMax}`,
      );
    }
    for (const handler of handlers) {
      if (handler.concurrency > max && handler.concurrency !== this.options.concurrency) {
        this.events.emit('advice', {
          message:
            `${handler.place}: concurrency ${handler.concurrency} cannot be reached; the pool of ` +
            `${poolMax} leaves ${max} connections to transactional handlers (raise extra.max)`,
        });
      }
    }
    return max;
  }
}
