/** One question to the record. */
export interface Check {
  /** What is looked at, in the plural: `acknowledged schedules`. */
  of: string;
  /**
   * One query. A row for each thing looked at: `delay_id` and `token`, as far as it has them, and
   * `why`, which is null where all is well and a sentence where it is not.
   */
  sql: string;
}

/** One of the rules that must hold whatever happens. */
export interface Invariant {
  number: number;
  title: string;
  checks: readonly Check[];
}

/** An instant as a person reads it; the day is always the same. */
export const clock = (instant: string): string => `to_char(${instant}, 'HH24:MI:SS.US')`;

/** Delays of the run's own load. The shop's are asked for by its services and carry no token. */
export const OF_LOAD = `LIKE 'chaos.%'`;
