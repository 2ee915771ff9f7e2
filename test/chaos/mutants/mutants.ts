import { BATCHES } from './batches.js';
import { CALLS } from './calls.js';
import { CLAIMS } from './claims.js';
import { ENDINGS } from './endings.js';
import { FENCES } from './fences.js';
import { LIMITS } from './limits.js';
import type { Mutant } from './mutant.js';
import { RECURRENCES } from './recurrences.js';

/** All mutants by name. */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  ...CLAIMS,
  ...FENCES,
  ...ENDINGS,
  ...CALLS,
  ...BATCHES,
  ...LIMITS,
  ...RECURRENCES,
};
