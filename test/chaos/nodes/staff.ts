import type { Random } from '../../../src/random.js';
import type { Role } from '../world.js';
import type { Slot } from './slot.js';

/** Hands out nodes to faults, each to one at a time. */
export class Staff {
  readonly #taken = new Set<Slot>();
  #waiting: (() => void)[] = [];

  /** Resolves when it is asked for no more nodes. */
  constructor(
    private readonly slots: readonly Slot[],
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.look(), { once: true });
  }

  /** Waits for one that runs and that nobody has. @throws when the run is stopped */
  async take(random: Random, role?: Role): Promise<{ node: Slot; release: () => void }> {
    for (;;) {
      this.signal.throwIfAborted();
      const free = this.slots.filter(
        (slot) => slot.running && !this.#taken.has(slot) && (role ?? slot.role) === slot.role,
      );
      if (free.length > 0) return this.#hand(random.pick(free));
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Something has changed about a node: those who wait look again. */
  look(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #hand(node: Slot): { node: Slot; release: () => void } {
    this.#taken.add(node);
    return {
      node,
      release: () => {
        this.#taken.delete(node);
        this.look();
      },
    };
  }
}
