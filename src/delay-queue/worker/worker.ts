import type { HintListener } from '../cluster/listener.js';
import { RerunStore } from '../store/many.store.js';
import type { NodeStore } from '../store/node.store.js';
import type { Idle } from '../tasks/recurring-task.js';
import { Declarations } from './declarations.js';
import type { InFlight } from './claims.js';
import { Announcer, followHearing } from './hints.js';
import { LeaseKeeper } from './lease-keeper.js';
import type { Loop } from './loop.js';
import { ManualRuns, type TestClock } from './manual-runs.js';
import { type Pruner, prunersOf } from './pruner.js';
import { Reruns } from './reruns.js';
import type { TimerQueue } from './timer-queue.js';
import {
  baseOf,
  coreOf,
  executorsOf,
  fetchersOf,
  loopOf,
  type Reports,
  type WorkerParts,
} from './wiring.js';

/** How long the last outcomes may take to be written once the handlers have ended. */
const WRITTEN_WITHIN_MS = 5_000;

/** The half of the engine that runs handlers, started and drained as one. */
export class Worker {
  readonly queue: TimerQueue;
  /** Whether this node leaves the database alone. */
  readonly idle: Idle;
  /** Of a node whose handlers only `DelayTesting` runs. */
  readonly manual: ManualRuns | undefined;
  readonly inFlight: InFlight;
  readonly reruns: Reruns;
  readonly #store: NodeStore;
  readonly #listener: HintListener;
  readonly #loop: Loop;
  readonly #core: ReturnType<typeof coreOf>;
  readonly #fetch: ReturnType<typeof fetchersOf>;
  readonly #execute: ReturnType<typeof executorsOf>;
  readonly #leaseKeeper: LeaseKeeper;
  readonly #pruners: Pruner[];
  readonly #declarations: Declarations;
  #hasStarted = false;
  #claimsAnswered: Promise<void> | undefined;
  #drained: Promise<number> | undefined;

  /** @throws DelayConfigError when the application's pool is too small for its handlers */
  constructor(private readonly parts: WorkerParts) {
    const base = baseOf(parts);
    const to: Reports = {
      wake: () => this.#loop.wake(),
      slotFreed: (name) => this.#loop.slotFreed(name),
      wrote: () => {
        this.#loop.wake();
        if (base.testClock === undefined) this.reruns.ended();
      },
      exhausted: (attempt, onDead) => this.#execute.onDeadCalls.add(attempt, onDead),
    };
    const core = (this.#core = coreOf(parts, base, to));
    const fetch = (this.#fetch = fetchersOf(parts, base, core));
    const execute = (this.#execute = executorsOf(parts, base, core));
    this.#loop = loopOf(parts, base, core, fetch, execute, to);
    this.queue = core.queue;
    this.idle = base.idle;
    this.inFlight = base.inFlight;
    this.#store = base.nodeStore;
    this.#listener = base.listener;

    const { options, registry, events, connections } = parts;
    this.#declarations = new Declarations(connections, options, registry, events, base.idle);
    const announcer = new Announcer(parts.nodes, parts.notifier, options, this);
    const reruns = new RerunStore(options.installation, options.historyKept);
    this.reruns = new Reruns(
      reruns,
      connections,
      options.loadEveryMs,
      events,
      base.idle,
      ({ wake, nowMs }) => {
        if (base.testClock !== undefined) return;
        announcer.announce(
          wake,
          { databaseMs: nowMs, monotonicMs: performance.now() },
          'confirmed',
        );
      },
    );
    this.manual = base.testClock && this.#manualOf(base.testClock);
    const { unwritten } = core.completer;
    this.#leaseKeeper = new LeaseKeeper(
      base.store,
      base.inFlight,
      unwritten,
      options.leaseMs,
      events,
    );
    this.#pruners = prunersOf(base.nodeStore, options.historyKeepMs, events, base.idle);
    this.#subscribe(base);
    const all = [base, core, fetch, execute].flatMap((each) => Object.values<unknown>(each));
    parts.built(this, this.#loop, this.#declarations, ...all);
  }

  #manualOf(clock: TestClock): ManualRuns {
    const { inFlight, reruns } = this;
    const { queue, throttles, completer } = this.#core;
    const loop = this.#loop;
    const { loader } = this.#fetch;
    const declarations = this.#declarations;
    const parts = { queue, throttles, completer, inFlight, loop, loader, declarations, reruns };
    return new ManualRuns({ ...parts, clock }, this.parts.connections);
  }

  /** All subscriptions of a worker: hints, nodes, the clock. {@link followHearing} is the fourth. */
  #subscribe({ listener, clock }: ReturnType<typeof baseOf>): void {
    const { queue, throttles, completer } = this.#core;
    const { hints, loader, scanner } = this.#fetch;
    listener.hints.on((hint) => hints.follow(hint));
    this.parts.nodes.changed.on(() => {
      completer.unread.forget();
      queue.leaveToOthers();
      scanner.restart();
    });
    clock.jumped.on(() => {
      queue.realign();
      loader.clockJumped();
      throttles.clear();
    });
  }

  /** @returns whether LISTEN works */
  async start(): Promise<boolean> {
    const { options, notifier } = this.parts;
    const listens = await this.#listener.start();
    followHearing({ ...this.parts, listener: this.#listener, loader: this.#fetch.loader });
    if (this.manual !== undefined) {
      this.#fetch.loader.onlyBeat();
      await this.manual.clock.read();
    }
    try {
      await this.#fetch.loader.join();
    } catch (error) {
      await this.#listener.stop();
      throw error;
    }
    await this.#declarations.start();
    this.#fetch.loader.start();
    this.#leaseKeeper.start();
    this.#fetch.aborts.start();
    if (this.manual === undefined && !this.isShut) {
      this.queue.open();
      this.#fetch.scanner.start();
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
    this.#fetch.loader.nodesChanged();
  }

  /**
   * From this moment on nothing is claimed, no handler is called, those that run are told to give up, and whichever
   * fails loses no attempt.
   */
  shut(): void {
    if (this.#claimsAnswered !== undefined) return;
    this.manual?.end();
    this.#claimsAnswered = this.#loop.stop();
    this.#execute.onDeadCalls.shut();
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
    const tasks = [
      this.#fetch.loader,
      this.#fetch.scanner,
      this.#fetch.hints,
      this.reruns,
      ...this.#pruners,
    ];
    await Promise.all(tasks.map((each) => each.stop()));
    await this.#listener.retire();
    await this.#claimsAnswered;
    this.queue.close();
    await this.inFlight.whenIdle(this.parts.options.drainTimeoutMs);
    await this.#execute.onDeadCalls.drain(WRITTEN_WITHIN_MS);
    const unfinished = this.inFlight.all();
    for (const attempt of unfinished) attempt.holder.release(attempt);
    await this.inFlight.whenIdle(WRITTEN_WITHIN_MS);
    await this.#core.completer.drain(WRITTEN_WITHIN_MS);
    this.#core.completer.close();
    await this.#leaseKeeper.stop();
    await this.#fetch.aborts.stop();
    await this.#listener.stop();
    for (const each of [this.#execute.executor, this.#core.throttles]) each.close();
    await this.#leave();
    return unfinished.length;
  }

  async #leave(): Promise<void> {
    try {
      await this.#store.leave();
      await this.parts.notifier.nodesChanged();
    } catch (error) {
      // The others find out when the heartbeats stay away.
      this.parts.events.emit('taskFailed', { task: 'leave', error });
    }
  }
}
