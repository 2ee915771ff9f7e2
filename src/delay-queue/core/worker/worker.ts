import type { Hearing } from '../cluster/hearing.js';
import type { WorkerSetup } from './context.js';
import { ManualRuns } from './manual-runs.js';
import { buildParts, type WorkerParts } from './wiring.js';

/** How long the last outcomes may take to be written once the handlers have ended. */
const WRITTEN_WITHIN_MS = 5_000;

/** Loads come this often without LISTEN, as only a load finds new delays that are due soon. */
const LOAD_WITHOUT_LISTEN_MS = 1_000;

/** What a worker shows of itself; see `DelayHealth`. */
export type WorkerVitals = Worker['vitals'];

/** The half of the engine that runs handlers, started and drained as one. */
export class Worker {
  readonly parts: WorkerParts;
  /** What a test runs, if this is a `manual` worker. */
  readonly manual: ManualRuns | undefined;
  /** Whether its start is over, so that it can be drained. */
  hasStarted = false;
  #claimsAnswered: Promise<void> | undefined;
  #drained: Promise<number> | undefined;

  /** @throws DelayConfigError when `transactionalConnections` are too few for its handlers */
  constructor(private readonly setup: WorkerSetup) {
    this.parts = buildParts(setup);
    const { testClock } = this.parts;
    this.manual = testClock && new ManualRuns(this.parts, testClock);
    this.#subscribe();
    setup.built(this, this.manual, ...Object.values<unknown>({ ...this.parts }));
  }

  /** All subscriptions of a worker: hints, nodes, the clock, and whether it hears hints at all. */
  #subscribe(): void {
    const { listener, clock, queue, throttles, hints, loader, scanner } = this.parts;
    listener.hints.on((hint) => hints.follow(hint));
    listener.hearingKnown.on((hearing) => this.#adapt(hearing));
    this.setup.nodes.changed.on(() => {
      this.parts.jobs.leaveNothing();
      queue.leaveToOthers();
      scanner.restart();
    });
    clock.jumped.on((byMs) => {
      this.setup.events.emit('clockJumped', { byMs });
      queue.realign();
      // What is due soon has changed.
      loader.runNow();
      throttles.clear();
    });
  }

  /** @returns whether LISTEN works */
  async start(): Promise<boolean> {
    const { options, notifier } = this.setup;
    const { listener, loader, declarations, leaseKeeper, aborts, scanner, pruners } = this.parts;
    const listens = await listener.start();
    this.#adapt(listener.hearing);
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
      this.parts.queue.open();
      for (const each of [scanner, this.parts.reruns, ...pruners]) each.start();
    }
    await notifier.nodesChanged(options.nodeName);
    this.hasStarted = true;
    return listens;
  }

  /** To whether LISTEN works. */
  #adapt(hearing: Hearing): void {
    const { connections, events, options } = this.setup;
    if (hearing === 'heard') connections.prepareStatements();
    if (hearing !== 'silent') return;
    this.parts.loader.loadEvery(Math.min(options.loadEveryMs, LOAD_WITHOUT_LISTEN_MS));
    events.emit('advice', {
      message:
        'LISTEN does not work on this connection (a pooler in transaction mode?); ' +
        `delays that other nodes schedule are loaded every ${LOAD_WITHOUT_LISTEN_MS} ms instead`,
    });
  }

  /** What tells whether it works. */
  get vitals() {
    const { loader, idle, names, queue, jobs } = this.parts;
    /** Calls of one name, at most `concurrency` at a time; `prefetched` ones wait here. */
    const callsOf = (name: string) => {
      const state = names.find(name);
      if (state === undefined) return undefined;
      const { handler, running, prefetched } = state;
      return { name, running, prefetched, concurrency: handler.concurrency };
    };
    return {
      loads: loader.loads,
      /** It leaves the database alone, so no load is missing. */
      isIdle: idle.isOn,
      /** Delays in the wheel and elsewhere, and those of them that are due. */
      queue: { watched: jobs.watchedCount, ready: queue.ready.size },
      /** The ids of some delays that wait for a slot here, up to `most` of each name. */
      readyIds: (most: number) => queue.ready.nextIds(most),
      /** Undefined: no handler here. */
      callsOf,
      calls: () => this.setup.registry.names().flatMap((name) => callsOf(name) ?? []),
    };
  }

  /** Whether it claims no more. */
  get isShut(): boolean {
    return this.#claimsAnswered !== undefined;
  }

  /**
   * From now on nothing is claimed and no handler is called; those that run are told to give up, and
   * a failure costs no attempt.
   */
  shut(): void {
    if (this.#claimsAnswered !== undefined) return;
    this.manual?.end();
    this.#claimsAnswered = this.parts.loop.stop();
    this.parts.onDeadCalls.shut();
    this.parts.jobs.close();
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
      this.parts;
    const { declarations, loader, scanner, hints, reruns, pruners, aborts } = tasks;
    await declarations.stop();
    await Promise.all([loader, scanner, hints, reruns, ...pruners].map((each) => each.stop()));
    await listener.retire();
    await this.#claimsAnswered;
    this.parts.queue.close();
    await this.parts.jobs.whenIdle(this.setup.options.drainTimeoutMs);
    await onDeadCalls.drain(WRITTEN_WITHIN_MS);
    const unfinished = this.parts.jobs.running();
    for (const attempt of unfinished) attempt.holder.release(attempt);
    await this.parts.jobs.whenIdle(WRITTEN_WITHIN_MS);
    await completer.drain(WRITTEN_WITHIN_MS);
    completer.close();
    for (const each of [leaseKeeper, aborts, listener]) await each.stop();
    for (const each of [executor, throttles]) each.close();
    await this.#leave();
    return unfinished.length;
  }

  async #leave(): Promise<void> {
    try {
      await this.parts.nodeStore.leave();
      await this.setup.notifier.nodesChanged();
    } catch (error) {
      // The others find out when the heartbeats stay away.
      this.setup.events.emit('taskFailed', { task: 'leave', error });
    }
  }
}
