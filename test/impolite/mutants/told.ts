import { KINDS } from '../kinds/index.js';
import type { ImpoliteMutant } from '../../mutants-by-suite/mutant.js';

/** The program that found a mutant. */
export interface Found {
  /** As `npm run impolite -- --once` takes it. */
  run: string;
  fault: string;
}

/** What a process that plays programs tells. */
export interface Told {
  played: number;
  found?: Found;
  /** Faults that are not the mutant's own, with the program that had them. */
  others: string[];
}

/** The real engine is asked the same, and any fault blames it. */
export const CONTROL: Pick<ImpoliteMutant, 'kinds' | 'programs' | 'blamedBy'> = {
  kinds: [...Object.keys(KINDS), 'callers', 'callers', 'callers', 'callers'],
  programs: 30,
  blamedBy: [],
};
