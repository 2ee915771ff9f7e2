import type { OwnServer } from './server/chaos-server.js';

/** What a run is asked to do. */
export interface ChaosOptions {
  /** Load with faults and the calm before them; what comes after is as long as it takes. */
  minutes: number;
  /** How long there are no faults at first; default: a tenth of it all, at least 15 s, at most a third. */
  calmMs?: number;
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
  /** A server to use, when several runs follow each other; otherwise one is started and removed. */
  server?: OwnServer;
  log: (line: string) => void;
  /** Stops the run, and everything that it started. */
  signal?: AbortSignal;
  /** Clients' logs, output and the record stay in a folder when something was violated. */
  keepsEvidence?: boolean;
}

export const DEFAULTS = {
  minutes: 2,
  rate: 60,
  workers: 3,
  producers: 2,
  quietWithinMs: 90_000,
} as const;

/** The first part of the load is without faults: what the others are compared with. */
export const calmMsOf = ({ minutes, calmMs }: Pick<ChaosOptions, 'minutes' | 'calmMs'>): number =>
  calmMs ?? Math.min((minutes * 60_000) / 3, Math.max(15_000, minutes * 6_000));
