import type { Description } from './change.js';

/** A mutant that no test can tell from the library, and why. */
export type Equivalent = Omit<Description, 'line'> & { why: string };

/** Those that were drawn and judged so far. */
export const EQUIVALENT: readonly Equivalent[] = [];
