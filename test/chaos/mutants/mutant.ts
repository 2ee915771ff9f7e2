import type { Surgery } from './surgery.js';

/** The engine with one rule taken out, and the weather in which that does harm. */
export interface Mutant {
  /** What it does wrong, as a sentence about it goes on after "it". */
  about: string;
  /** Kinds of faults that bring it to light; none: its load alone does. */
  faults: readonly string[];
  /** How long the load runs. */
  seconds: number;
  /** Calls per second; left out: those of the command line. */
  rate?: number;
  /** Number of the invariant that has to be among those that blame it; left out: any will do. */
  blamedBy?: number;
  /** Plans the operation; performed in every worker and producer. */
  apply: (surgery: Surgery) => void;
}
