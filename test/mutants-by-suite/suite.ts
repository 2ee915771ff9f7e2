import type { Mutant } from './mutant.js';
import type { Judged } from './outcome.js';

/** Something that may find mutants. */
export interface Suite {
  /** Whether that mutant is for it to find; `control` is the engine as it is. */
  isAbout: (name: string, mutant: Mutant | undefined) => boolean;
  /** @param mutant undefined for the engine as it is */
  judge: (name: string, mutant: Mutant | undefined) => Promise<Judged>;
  close?: () => Promise<void>;
}
