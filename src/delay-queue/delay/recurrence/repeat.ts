/** What becomes of instants that were missed: one run for all of them, one for each, or none. */
export type CatchUp = 'latest' | 'each' | 'none';

/** How a delay recurs: each so many milliseconds, or by the wall clock of a time zone. */
export type DelayRepeat = { catchUp: CatchUp } & (
  { every: number } | { cron: string; timeZone: string }
);
