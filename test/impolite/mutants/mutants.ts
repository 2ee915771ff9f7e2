import { ATTEMPTS } from './attempts.js';
import { CONNECTIONS } from './connections.js';
import { MEMORY } from './memory.js';
import type { Mutant } from './mutant.js';
import { TRANSACTIONS } from './transactions.js';

/** All mutants by name. */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  ...CONNECTIONS,
  ...TRANSACTIONS,
  ...MEMORY,
  ...ATTEMPTS,
};
