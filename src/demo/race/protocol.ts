import type { Closer } from './command-line.js';

/** The only argument of a process of the race, as JSON. */
export interface ProcessOrder {
  closer: Closer;
  /** Of the node, in the history and in `pg_stat_activity`. */
  name: string;
  databaseUrl: string;
  payWithinMs: number;
  leaseMs: number;
}

/** What the race says to a process. */
export type Command =
  /** To a scanning one: when in each minute it looks for overdue orders. */
  | { type: 'scan'; atMsOfMinute: number }
  /** Drains and ends. */
  | { type: 'stop' };

/** What a process says to the race. */
export type Message =
  | { type: 'listening'; url: string }
  /** The naive ones keep no history, so they tell of each order that they have closed. */
  | { type: 'closed'; orderId: string }
  | { type: 'failed'; reason: string };
