import type { Closer } from './command-line.js';

/** The only argument of a process of the race, as JSON. */
export interface ProcessOrder {
  closer: Closer;
  /** Name of the node, in the history and in `pg_stat_activity`. */
  name: string;
  databaseUrl: string;
  payWithinMs: number;
  leaseMs: number;
}

export type Command =
  /** When in each minute a process with `--cron` scans for overdue orders. */
  | { type: 'scan'; atMsOfMinute: number }
  /** Drain and exit. */
  | { type: 'stop' };

export type Message =
  | { type: 'listening'; url: string }
  /** The naive ones keep no history, so they report each order that they have closed. */
  | { type: 'closed'; orderId: string }
  | { type: 'failed'; reason: string };
