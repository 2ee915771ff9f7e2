import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../src/random.js';
import type { Slot } from './nodes/slot.js';
import { Staff } from './nodes/staff.js';
import { LEASE_MS } from './processes/process.protocol.js';
import type { ChaosServer, Role, World } from './world.js';

/** The world of a run, until it is stopped. */
export class ChaosWorld implements World {
  readonly leaseMs = LEASE_MS;
  readonly #stopped = new AbortController();
  readonly #staff: Staff;
  readonly #signal: AbortSignal;

  constructor(
    readonly server: ChaosServer,
    readonly nodes: readonly Slot[],
    readonly log: (line: string) => void,
    signal: AbortSignal | undefined,
  ) {
    const own = this.#stopped.signal;
    this.#signal = signal ? AbortSignal.any([own, signal]) : own;
    this.#staff = new Staff(nodes, this.#signal);
  }

  take(random: Random, role?: Role): Promise<{ node: Slot; release: () => void }> {
    return this.#staff.take(random, role);
  }

  /** @throws AbortError when the run is stopped */
  async sleep(ms: number): Promise<void> {
    await pause(Math.max(0, ms), undefined, { signal: this.#signal });
  }

  /** A node runs, or does not run any more. */
  changed(): void {
    this.#staff.look();
  }

  /** Faults that still go on end now. */
  stop(): void {
    this.#stopped.abort();
  }
}
