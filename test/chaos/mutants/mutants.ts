import type { ChaosMutant } from '../../mutants-by-suite/mutant.js';
import { BATCHES } from './batches.js';
import { CALLS } from './calls.js';
import { CLAIMS } from './claims.js';
import { ENDINGS, RECURRENCES } from './endings.js';
import { FENCES } from './fences.js';
import { LIMITS } from './limits.js';

/** All mutants by name. */
export const MUTANTS: Readonly<Record<string, ChaosMutant>> = {
  ...CLAIMS,
  ...FENCES,
  ...ENDINGS,
  ...CALLS,
  ...BATCHES,
  ...LIMITS,
  ...RECURRENCES,
};
