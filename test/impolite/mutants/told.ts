import { KINDS } from '../kinds/index.js';
import type { Mutant } from './mutant.js';

/** The program that found a mutant. */
export interface Found {
  /** As `npm run impolite -- --once` takes it. */
  run: string;
  fault: string;
  /** Since its process began. */
  afterMs: number;
}

/** What a process that plays programs tells. */
export interface Told {
  played: number;
  found?: Found;
  /** Faults that are not the mutant's own, with the program that had them. */
  others: string[];
}

/** The real engine is asked the same, and any fault blames it. */
export const CONTROL: Pick<Mutant, 'kinds' | 'programs' | 'blamedBy'> = {
  kinds: [...Object.keys(KINDS), 'callers', 'callers', 'callers', 'callers'],
  programs: 30,
  blamedBy: [],
};
