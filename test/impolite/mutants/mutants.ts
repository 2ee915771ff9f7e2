import { ATTEMPTS } from './attempts.js';
import { CONNECTIONS } from './connections.js';
import { MEMORY } from './memory.js';
import type { ImpoliteMutant } from '../../mutants-by-suite/mutant.js';
import { TRANSACTIONS } from './transactions.js';

/** All mutants by name. */
export const MUTANTS: Readonly<Record<string, ImpoliteMutant>> = {
  ...CONNECTIONS,
  ...TRANSACTIONS,
  ...MEMORY,
  ...ATTEMPTS,
};
