import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../src/random.js';
import type { Slot } from './nodes/slot.js';
import type { ChaosDatabase } from './server/chaos-server.js';

/**
 * Everything that a fault may touch, until the world is stopped. Faults overlap, and two of them on
 * one node would only hide each other: a node is in the hands of one fault at a time.
 */
export class World {
  readonly #stopped = new AbortController();
  readonly #signal: AbortSignal;
  readonly #taken = new Set<Slot>();
  #waiting: (() => void)[] = [];

  constructor(
    readonly database: ChaosDatabase,
    readonly nodes: Slot[],
    /** A line of the run's progress. */
    readonly log: (line: string) => void,
    signal?: AbortSignal,
  ) {
    const own = this.#stopped.signal;
    this.#signal = signal ? AbortSignal.any([own, signal]) : own;
    this.#signal.addEventListener('abort', () => this.changed(), { once: true });
  }

  /** Waits for a node that runs and that nobody has, and has it while `harm` runs. */
  withOne(random: Random, harm: (node: Slot) => Promise<void>): Promise<void> {
    return this.#with(
      (free) => (free.length > 0 ? [random.pick(free)] : undefined),
      async ([node]) => harm(node as Slot),
    );
  }

  /** Waits until all workers run and nobody has one: of two that each hold some, neither would get the rest. */
  withWorkers(random: Random, harm: (nodes: Slot[]) => Promise<void>): Promise<void> {
    const all = this.nodes.filter(({ role }) => role === 'worker');
    return this.#with(
      (free) => (all.every((node) => free.includes(node)) ? random.shuffled(all) : undefined),
      harm,
    );
  }

  /** @throws AbortError when the run is stopped */
  async sleep(ms: number): Promise<void> {
    await pause(Math.max(0, ms), undefined, { signal: this.#signal });
  }

  /** Something has changed about a node: those who wait for one look again. */
  changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Faults that still go on end now. */
  stop(): void {
    this.#stopped.abort();
  }

  /** @throws AbortError when the run is stopped */
  async #with(
    choose: (free: Slot[]) => Slot[] | undefined,
    harm: (nodes: Slot[]) => Promise<void>,
  ): Promise<void> {
    let nodes: Slot[] | undefined;
    const isFree = (node: Slot): boolean => node.running && !this.#taken.has(node);
    while ((nodes = choose(this.nodes.filter(isFree))) === undefined) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#signal.throwIfAborted();
    }
    for (const node of nodes) this.#taken.add(node);
    try {
      await harm(nodes);
    } finally {
      for (const node of nodes) this.#taken.delete(node);
      this.changed();
    }
  }
}
