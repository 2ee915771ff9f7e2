import type { DataSource } from 'typeorm';
import type { ResolvedOptions } from '../options/delay-queue.options.js';
import { DelayConfigError, DelayShutdownError } from '../delay/delay.errors.js';
import type { DelayEvents } from '../delay/delay.events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { Wake } from '../store/wire/wakes.js';
import { WorkStore } from '../store/work.store.js';
import { DatabaseClock } from '../database/database-clock.js';
import type { WheelService } from '../wheel/wheel.service.js';
import { Acknowledger } from '../settlement/acknowledger.js';
import { Dispatcher } from '../execution/dispatcher.js';
import type { EngineConnections } from '../database/engine-connections.js';
import { Executor } from '../execution/executor.js';
import type { Hint } from '../cluster/hint.js';
import { HintListener } from '../cluster/listener.js';
import type { Notifier } from '../cluster/notifier.js';
import type { Attempt } from '../execution/call/attempt.js';
import { InFlight } from '../settlement/in-flight.js';
import { LeaseKeeper } from '../settlement/lease-keeper.js';
import { Loader } from '../intake/loader.js';
import { LostClaims } from '../settlement/lost-claims.js';
import { Missed } from '../execution/unclaimed.js';
import type { Nodes } from '../cluster/nodes.js';
import { type Pruner, prunersOf } from './pruner.js';
import { ReadAhead, type Source } from '../intake/read-ahead.js';
import { ReadyQueue } from '../intake/ready-queue.js';
import { Slots } from '../execution/concurrency-limits.js';
import { Sweeper } from '../intake/sweeper.js';

/** Entries of the read-ahead: at 1,000 delays per second a horizon of 30 s holds 30,000. */
const READ_AHEAD_MAX = 200_000;

/** How far the clocks of two nodes, each its own estimate of the database's, may be apart. */
const HINT_SLACK_MS = 1_000;

/** Loads without LISTEN come this often: the loader alone has to find what is due soon. */
const LOAD_WITHOUT_LISTEN_MS = 1_000;

/** How long the last acknowledgements may take once the handlers have ended. */
const ACKNOWLEDGE_WITHIN_MS = 5_000;

export interface WorkerParts {
  options: ResolvedOptions;
  dataSource: DataSource;
  registry: HandlerRegistry;
  wheel: WheelService;
  events: DelayEvents;
  connections: EngineConnections;
  nodes: Nodes;
  hints: Notifier;
}

/** The half of the engine that runs handlers: wired here, begun and drained as one. */
export class Worker {
  readonly #store: WorkStore;
  readonly #clock = new DatabaseClock();
  readonly #inFlight = new InFlight<Attempt>();
  readonly #readAhead: ReadAhead;
  readonly #acknowledger: Acknowledger;
  readonly #executor: Executor;
  readonly #dispatcher: Dispatcher;
  readonly #sweeper: Sweeper;
  readonly #loader: Loader;
  readonly #listener: HintListener;
  readonly #leaseKeeper: LeaseKeeper;
  readonly #pruners: Pruner[];
  #hasJoined = false;

  /** @throws DelayConfigError when the application's pool is too small for its handlers */
  constructor(private readonly parts: WorkerParts) {
    const { options, registry, events, wheel, connections, nodes, dataSource } = parts;
    const { schema, nodeName, leaseMs, historyKeepMs } = options;
    const offer = (wake: Wake): boolean => this.offer(wake, 'read');
    const store = new WorkStore(connections, schema, historyKeepMs !== null, nodeName);
    const slots = new Slots(registry, transactionalMax(parts), {
      onRest: (name, lingering) => events.emit('advice', { message: restOf(name, lingering) }),
      onGoesOn: () => this.#dispatcher.dispatch(),
    });
    const ready = new ReadyQueue();
    const lostClaims = new LostClaims();
    this.#store = store;
    this.#readAhead = new ReadAhead(wheel, this.#clock, READ_AHEAD_MAX, (entries) =>
      this.#dispatcher.due(entries),
    );
    this.#acknowledger = new Acknowledger(store, events, {
      onMoved: (wake) => this.#offerIfNear(wake),
      onProgress: () => this.#dispatcher.dispatch(),
    });
    const isolation = { level: undefined };
    const fenced = { dataSource, store, engine: connections, isolation };
    this.#executor = new Executor(wheel, fenced, this.#acknowledger, slots, events);
    this.#dispatcher = new Dispatcher(
      {
        store,
        registry,
        clock: this.#clock,
        slots,
        ready,
        readAhead: this.#readAhead,
        missed: new Missed(store, registry, this.#readAhead, lostClaims, events),
        inFlight: this.#inFlight,
        lostClaims,
        executor: this.#executor,
        acknowledger: this.#acknowledger,
        events,
      },
      claimBatchFor(parts),
      { hungry: () => this.#sweeper.hungry(), leftOut: () => this.#sweeper.leftOut() },
    );
    this.#sweeper = new Sweeper(store, nodes, leaseMs, this.#dispatcher, offer, events);
    const callbacks = {
      offer,
      isPresent: () => this.#listener.isPresent,
      onSharesChanged: () => {
        this.#dispatcher.leave(({ id, name }) => nodes.owns(id, name));
        this.#sweeper.restart();
      },
    };
    this.#loader = new Loader(store, nodes, this.#clock, options, callbacks, events);
    const hear = (hint: Hint): void => this.#hear(hint);
    this.#listener = new HintListener(connections, schema, nodeName, hear, events);
    this.#leaseKeeper = new LeaseKeeper(
      store,
      this.#inFlight,
      this.#acknowledger.unwritten,
      leaseMs,
      events,
    );
    this.#pruners = prunersOf(store, historyKeepMs, events);
    this.#clock.onJump(() => {
      this.#readAhead.realign();
      this.#loader.loadNow();
    });
  }

  /**
   * Keeps an eye on a wake. Before the clock was read for the first time there is nothing to do so
   * with, and the first load brings it.
   *
   * @returns false when there was no room for it
   */
  offer(wake: Wake, source: Source): boolean {
    return !this.#hasJoined || this.#dispatcher.offer(wake, source);
  }

  /** The row of that id is gone. */
  disarm(id: number): void {
    this.#readAhead.disarm(id);
  }

  /** @returns whether LISTEN works */
  async start(): Promise<boolean> {
    const { options, events, hints, connections } = this.parts;
    const listens = await this.#listener.start();
    if (this.#listener.hasOwnSessions) connections.prepareStatements();
    if (!listens) {
      this.#loader.loadEvery(Math.min(options.loadEveryMs, LOAD_WITHOUT_LISTEN_MS));
      events.emit('advice', {
        message:
          'LISTEN does not work on this connection (a pooler in transaction mode?); ' +
          `delays that other nodes schedule are loaded every ${LOAD_WITHOUT_LISTEN_MS} ms instead`,
      });
    }
    try {
      await this.#loader.join();
    } catch (error) {
      await this.#listener.stop();
      throw error;
    }
    this.#hasJoined = true;
    this.#loader.start();
    this.#sweeper.start();
    this.#leaseKeeper.start();
    for (const pruner of this.#pruners) pruner.start();
    await hints.nodesChanged(options.nodeName);
    return listens;
  }

  /**
   * Claims nothing more, waits for the handlers in flight, gives back the rest without spending an
   * attempt, writes everything down, says goodbye.
   *
   * @returns how many attempts were given back unfinished
   */
  async drain(): Promise<number> {
    // From this moment: whatever is answered while the others stop begins no more.
    const claimsAnswered = this.#dispatcher.stop();
    await Promise.all([this.#loader, this.#sweeper, ...this.#pruners].map((each) => each.stop()));
    await this.#listener.stop();
    await claimsAnswered;
    this.#readAhead.close();
    for (const attempt of this.#inFlight.all()) {
      attempt.closing = true;
      attempt.abort(new DelayShutdownError());
    }
    await this.#inFlight.whenIdle(this.parts.options.drainTimeoutMs);
    const unfinished = this.#inFlight.all();
    for (const attempt of unfinished) attempt.cut({ kind: 'released' });
    await this.#inFlight.whenIdle(ACKNOWLEDGE_WITHIN_MS);
    await this.#acknowledger.drain(ACKNOWLEDGE_WITHIN_MS);
    this.#acknowledger.close();
    await this.#leaseKeeper.stop();
    this.#executor.close();
    await this.#leave();
    return unfinished.length;
  }

  #offerIfNear(wake: Wake): void {
    if (wake.wakeMs - this.#clock.nowMs() <= this.parts.options.horizonMs) this.offer(wake, 'read');
  }

  #hear(hint: Hint): void {
    const { nodes, options } = this.parts;
    if (hint.kind === 'nodes') {
      // It hears of itself, too, and knows who was there when it came.
      if (hint.came !== options.nodeName) this.#loader.nodesChanged();
    } else if (hint.kind === 'wakes') {
      // Nobody tells of what is due later: a load is in time for that.
      const nearMs = this.#hasJoined ? this.#clock.nowMs() + options.horizonMs : Infinity;
      for (const wake of hint.wakes) {
        const isNear = wake.wakeMs <= nearMs + HINT_SLACK_MS;
        if (isNear && nodes.owns(wake.id, wake.name)) this.offer(wake, 'told');
      }
    }
  }

  async #leave(): Promise<void> {
    try {
      await this.#store.leave();
      await this.parts.hints.nodesChanged();
    } catch (error) {
      // The others find out when the heartbeats stay away.
      this.parts.events.emit('trouble', { during: 'leave', error });
    }
  }
}

const restOf = (name: string, lingering: number): string =>
  `${name} rests on this node: ${lingering} of its handlers outlived their timeout and still run; ` +
  'it goes on as they end (a handler should end when ctx.signal aborts)';

/** A claim takes at least what the largest batch handler wants at once. */
const claimBatchFor = ({ options, registry }: WorkerParts): number =>
  Math.max(options.claimBatch, ...registry.all().map(({ batch }) => batch ?? 1));

/**
 * Transactional handlers hold a connection of the application's pool each. A fifth of it, one at
 * least, stays with the application: a handler that wants a second one must be able to get it.
 */
function transactionalMax({ connections, registry, options, events }: WorkerParts): number {
  const poolMax = connections.applicationPoolMax;
  const max = poolMax - Math.max(1, Math.ceil(poolMax / 5));
  const handlers = registry.all().filter((handler) => handler.transactional);
  if (handlers.length > 0 && max < 1) {
    throw new DelayConfigError(
      `transactional handlers need a pool of at least 2 connections (extra.max), not ${poolMax}`,
    );
  }
  for (const handler of handlers) {
    if (handler.concurrency > max && handler.concurrency !== options.concurrency) {
      events.emit('advice', {
        message:
          `${handler.place}: concurrency ${handler.concurrency} cannot be reached; the pool of ` +
          `${poolMax} leaves ${max} connections to transactional handlers (raise extra.max)`,
      });
    }
  }
  return max;
}
