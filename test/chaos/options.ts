import type { ChaosServer } from './server/chaos-server.js';

/** What a run is asked to do. */
export interface ChaosOptions {
  /** Load with faults and the calm before them; what comes after is as long as it takes. */
  minutes: number;
  /** How long there are no faults at first: until everybody is at work. */
  calmMs: number;
  /** Every choice of the run follows from it; what the machine makes of them does not. */
  seed: string;
  /** Kinds of faults; empty: none. */
  faults: readonly string[];
  /** Delays per second that all producers together ask for. */
  rate: number;
  workers: number;
  producers: number;
  /** The engine with one rule taken out; undefined: as it is. */
  mutant?: string;
  /** How long the rest may take once producers and faults have stopped, in milliseconds. */
  quietWithinMs: number;
  /** It outlives the run: several runs follow each other on it. */
  server: ChaosServer;
  log: (line: string) => void;
  /** Stops the run, and everything that it started. */
  signal: AbortSignal;
  /** Clients' logs, output and the record stay in a folder when something was violated. */
  keepsEvidence?: boolean;
}
