import type { Random } from '../../src/random.js';
import type { Fault } from './faults/fault.js';
import type { World } from './world.js';

/** Faults that happen at the same time, at most. */
const LANES = 2;

const PAUSE_MS = { min: 500, max: 2_000 };

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
    private readonly onBroken: (kind: string, error: unknown) => void,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    await Promise.all(Array.from({ length: LANES }, (_, number) => this.#lane(number, isOver)));
  }

  async #lane(number: number, isOver: () => boolean): Promise<void> {
    const own = this.random.fork(`lane ${number}`);
    while (!isOver()) {
      if (this.#left.length === 0) this.#left = this.random.shuffled(this.faults);
      const fault = this.#left.pop();
      if (fault === undefined) return;
      await this.#do(fault, own);
      if (!isOver()) await this.world.sleep(own.integer(PAUSE_MS.min, PAUSE_MS.max));
    }
  }

  async #do({ kind, run }: Fault, random: Random): Promise<void> {
    this.under.add(kind);
    try {
      await run(this.world, random);
    } catch (error) {
      // Stopped in the middle is not broken.
      if ((error as Error).name !== 'AbortError') this.onBroken(kind, error);
    }
    this.under.delete(kind);
    await this.world.database.sql('INSERT INTO chaos.fault (kind) VALUES ($1)', [kind]);
  }
}
