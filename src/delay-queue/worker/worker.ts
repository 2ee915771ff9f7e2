import type { Idle } from '../tasks/recurring-task.js';
import type { InFlight } from './claims.js';
import { followHearing } from './hint-follower.js';
import type { Loader } from './loader.js';
import type { ManualRuns } from './manual-runs.js';
import type { NameState } from './name-state.js';
import type { Reruns } from './reruns.js';
import type { TimerQueue } from './timer-queue.js';
import { partsOf, type WorkerParts, type WorkerSetup } from './wiring.js';

/** How long the last outcomes may take to be written once the handlers have ended. */
const WRITTEN_WITHIN_MS = 5_000;

/** What a worker shows of itself; see `DelayHealth`. */
export interface WorkerVitals {
  loads: Loader['loads'];
  /** It leaves the database alone, so no load is missing. */
  isIdle: boolean;
  queue: TimerQueue['sizes'];
  /** The ids of some delays that wait for a slot here, up to `most` of each name. */
  readyIds(most: number): number[];
  /** Calls of a name; undefined: no handler here. */
  callsOf(name: string): CallsOfName | undefined;
  /** Of all names that have a handler here. */
  calls(): CallsOfName[];
}

/** Calls of one name on this node, at most `concurrency` at a time; `prefetched` ones wait here. */
interface CallsOfName {
  name: string;
  running: number;
  prefetched: number;
  concurrency: number;
}

const callsOf = ({ handler, running, prefetched }: NameState): CallsOfName => ({
  name: handler.name,
  running,
  prefetched,
  concurrency: handler.concurrency,
});

/** The half of the engine that runs handlers, started and drained as one. */
export class Worker {
  readonly queue: TimerQueue;
  /** Whether this node leaves the database alone. */
  readonly idle: Idle;
  /** Of a node whose handlers only `DelayTesting` runs. */
  readonly manual: ManualRuns | undefined;
  readonly inFlight: InFlight;
  readonly reruns: Reruns;
  readonly #parts: WorkerParts;
  #hasStarted = false;
  #claimsAnswered: Promise<void> | undefined;
  #drained: Promise<number> | undefined;

  /** @throws DelayConfigError when `transactionalConnections` are too few for its handlers */
  constructor(private readonly setup: WorkerSetup) {
    const parts = (this.#parts = partsOf(setup));
    this.queue = parts.queue;
    this.idle = parts.idle;
    this.manual = parts.manual;
    this.inFlight = parts.inFlight;
    this.reruns = parts.reruns;
    this.#subscribe();
    setup.built(this, ...Object.values<unknown>({ ...parts }));
  }

  /** All subscriptions of a worker: hints, nodes, the clock. {@link followHearing} is the fourth. */
  #subscribe(): void {
    const { listener, clock, queue, throttles, completer, hints, loader, scanner } = this.#parts;
    listener.hints.on((hint) => hints.follow(hint));
    this.setup.nodes.changed.on(() => {
      completer.unread.forget();
      queue.leaveToOthers();
      scanner.restart();
    });
    clock.jumped.on((byMs) => {
      this.setup.events.emit('clockJumped', { byMs });
      queue.realign();
      loader.clockJumped();
      throttles.clear();
    });
  }

  /** @returns whether LISTEN works */
  async start(): Promise<boolean> {
    const { options, notifier } = this.setup;
    const { listener, loader, declarations, leaseKeeper, aborts, scanner, pruners } = this.#parts;
    const listens = await listener.start();
    followHearing({ ...this.setup, listener, loader });
    if (this.manual !== undefined) {
      loader.onlyBeat();
      await this.manual.clock.read();
    }
    try {
      await loader.join();
    } catch (error) {
      await listener.stop();
      throw error;
    }
    await declarations.start();
    for (const each of [loader, leaseKeeper, aborts]) each.start();
    if (this.manual === undefined && !this.isShut) {
      this.queue.open();
      for (const each of [scanner, this.reruns, ...pruners]) each.start();
    }
    await notifier.nodesChanged(options.nodeName);
    this.#hasStarted = true;
    return listens;
  }

  /** What tells whether it works. */
  get vitals(): WorkerVitals {
    const { loader, idle, names, queue } = this.#parts;
    const found = (name: string): CallsOfName | undefined => {
      const state = names.find(name);
      return state && callsOf(state);
    };
    return {
      loads: loader.loads,
      isIdle: idle.isOn,
      queue: queue.sizes,
      readyIds: (most) => queue.readyIds(most),
      callsOf: found,
      calls: () => this.setup.registry.names().flatMap((name) => found(name) ?? []),
    };
  }

  /** Whether its start is over, so that it can be drained. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** Whether it claims no more. */
  get isShut(): boolean {
    return this.#claimsAnswered !== undefined;
  }

  /** Reads again which nodes there are. */
  nodesChanged(): void {
    this.#parts.loader.nodesChanged();
  }

  /**
   * From now on nothing is claimed and no handler is called; those that run are told to give up, and
   * a failure costs no attempt.
   */
  shut(): void {
    if (this.#claimsAnswered !== undefined) return;
    this.manual?.end();
    this.#claimsAnswered = this.#parts.loop.stop();
    this.#parts.onDeadCalls.shut();
    this.inFlight.close();
  }

  /**
   * Waits for the handlers in flight, gives back the rest without spending an attempt, writes
   * everything, leaves the cluster.
   *
   * @returns how many attempts were given back unfinished
   */
  drain(): Promise<number> {
    this.shut();
    return (this.#drained ??= this.#drain());
  }

  async #drain(): Promise<number> {
    const { listener, completer, executor, throttles, onDeadCalls, leaseKeeper, ...tasks } =
      this.#parts;
    const { declarations, loader, scanner, hints, reruns, pruners, aborts } = tasks;
    await declarations.stop();
    await Promise.all([loader, scanner, hints, reruns, ...pruners].map((each) => each.stop()));
    await listener.retire();
    await this.#claimsAnswered;
    this.queue.close();
    await this.inFlight.whenIdle(this.setup.options.drainTimeoutMs);
    await onDeadCalls.drain(WRITTEN_WITHIN_MS);
    const unfinished = this.inFlight.all();
    for (const attempt of unfinished) attempt.holder.release(attempt);
    await this.inFlight.whenIdle(WRITTEN_WITHIN_MS);
    await completer.drain(WRITTEN_WITHIN_MS);
    completer.close();
    for (const each of [leaseKeeper, aborts, listener]) await each.stop();
    for (const each of [executor, throttles]) each.close();
    await this.#leave();
    return unfinished.length;
  }

  async #leave(): Promise<void> {
    try {
      await this.#parts.nodeStore.leave();
      await this.setup.notifier.nodesChanged();
    } catch (error) {
      // The others find out when the heartbeats stay away.
      this.setup.events.emit('taskFailed', { task: 'leave', error });
    }
  }
}
