import type { Duration } from './duration.js';

/** When it recurs: each so long, or by the wall clock of a time zone. */
export type RepeatInterval =
  | {
      /**
       * Each so long, counted from the first due time; either this or `cron`.
       *
       * The first due time is so long after it is first declared or scheduled.
       *
       * @range 1 s to 100 years
       */
      every: Duration;
      cron?: never;
      timeZone?: never;
    }
  | {
      /** Five fields, like `0 3 * * *`, or six with the seconds in front. */
      cron: string;
      /**
       * IANA name of the wall clock for `cron`, like `Europe/Berlin`; never that of the machine.
       * @default 'UTC'
       */
      timeZone?: string;
      every?: never;
    };

/** What `schedule` takes as `repeat`. */
export type RepeatOptions = RepeatInterval & {
  /**
   * What becomes of instants that were missed: one run for all, `'each'` a run for each, `'none'` no run.
   *
   * Missed is also what came while a run took its time. `latest`: the one run is due at the last of them. `each`: one after
   * another. `none`: what could not begin within a minute is left out.
   *
   * @default 'latest'
   */
  catchUp?: CatchUp;
};

/** What becomes of instants that were missed: one run for all of them, one for each, or none. */
export type CatchUp = 'latest' | 'each' | 'none';

/** How a delay recurs: each so many milliseconds, or by the wall clock of a time zone. */
export type DelayRepeat = { catchUp: CatchUp } & (
  { every: number } | { cron: string; timeZone: string }
);
