import type { Random } from '../../../src/random.js';
import type { World } from '../world.js';

/**
 * One kind of fault. `run` does it once, from the first harm to the last mend: when it has resolved,
 * nothing of it is left but what the system itself has to recover from. A run that is stopped in the
 * middle of it mends every process and every proxy anyway (see `Crew.mend`).
 */
export interface Fault {
  readonly kind: string;
  /** Its harm in one line. */
  readonly title: string;
  readonly run: (world: World, random: Random) => Promise<void>;
}

export const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
