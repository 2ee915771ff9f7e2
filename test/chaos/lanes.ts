import type { Random } from '../../src/random.js';
import type { Fault } from './faults/fault.js';
import type { World } from './world.js';

/** Faults that happen at the same time, at most. */
const LANES = 2;

const PAUSE_MS = { min: 500, max: 2_000 };

/** Who hears of faults that are over. */
export interface FaultWatch {
  onFault(kind: string): Promise<void>;
  onBroken(kind: string, error: unknown): void;
}

/**
 * Does faults, two at a time, until it is time to stop; the last ones are done to their end. All kinds
 * come before one comes again.
 */
export class Lanes {
  /** Kinds that are being done. */
  readonly under = new Set<string>();
  #left: Fault[] = [];

  constructor(
    private readonly faults: readonly Fault[],
    private readonly world: World,
    private readonly random: Random,
    private readonly watch: FaultWatch,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    const lanes = Array.from({ length: LANES }, (_, number) => this.#lane(number, isOver));
    await Promise.all(lanes);
  }

  async #lane(number: number, isOver: () => boolean): Promise<void> {
    const own = this.random.fork(`lane ${number}`);
    while (!isOver()) {
      if (this.#left.length === 0) this.#left = this.random.shuffled(this.faults);
      const fault = this.#left.pop();
      if (fault === undefined) return;
      await this.#do(fault, own);
      if (isOver()) return;
      await this.world.sleep(own.integer(PAUSE_MS.min, PAUSE_MS.max));
    }
  }

  async #do({ kind, run }: Fault, random: Random): Promise<void> {
    const entry = `${kind} since ${new Date().toISOString()}`;
    this.under.add(entry);
    try {
      await run(this.world, random);
    } catch (error) {
      // Stopped in the middle is not broken.
      if ((error as Error).name !== 'AbortError') this.watch.onBroken(kind, error);
    } finally {
      this.under.delete(entry);
    }
    await this.watch.onFault(kind);
  }
}
