import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../src/random.js';
import type { Slot } from './nodes/slot.js';
import type { ChaosDatabase } from './server/chaos-server.js';

/** Nodes in the hands of one fault. */
export interface Taken {
  nodes: Slot[];
  /** When they are well again. */
  release: () => void;
}

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

  /** Waits for one that runs and that nobody has. @throws when the run is stopped */
  take(random: Random): Promise<Taken> {
    return this.#take((free) => (free.length > 0 ? [random.pick(free)] : undefined));
  }

  /** Waits until all workers run and nobody has one: of two that each hold some, neither would get the rest. */
  takeWorkers(random: Random): Promise<Taken> {
    const all = this.nodes.filter(({ role }) => role === 'worker');
    return this.#take((free) =>
      all.every((node) => free.includes(node)) ? random.shuffled(all) : undefined,
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

  async #take(choose: (free: Slot[]) => Slot[] | undefined): Promise<Taken> {
    for (;;) {
      this.#signal.throwIfAborted();
      const nodes = choose(this.nodes.filter((node) => node.running && !this.#taken.has(node)));
      if (nodes) return this.#hand(nodes);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #hand(nodes: Slot[]): Taken {
    for (const node of nodes) this.#taken.add(node);
    return {
      nodes,
      release: () => {
        for (const node of nodes) this.#taken.delete(node);
        this.changed();
      },
    };
  }
}
