import type { Duration } from './duration.js';
import type { RepeatOptions } from './repeat.js';

/** When a delay is due: `after` counts from the database's clock, `at` is an absolute instant. */
export type When = { after: Duration; at?: never } | { at: Date; after?: never };

/**
 * A delay that recurs, one row on any number of nodes: it has a key, and `after` or `at` say when it runs for the first
 * time. Left out, that is its first instant: so long after now, or the next one of the wall clock.
 */
export type Recurring = {
  /** How it recurs. */
  repeat: RepeatOptions;
  key: string;
  onConflict?: 'replace' | 'keep' | 'error';
  maxWait?: never;
  running?: never;
} & (When | { after?: never; at?: never });

/** When a delay is due: once, or again and again. */
export type Due = (When & { repeat?: never }) | Recurring;
