import type { Duration } from './duration.js';

/** When it recurs: each so long, or by the wall clock of a time zone. */
export type RepeatInterval =
  | {
      /** 1 s to 100 years, counted from the first due time, which is so long after it is first declared or scheduled. */
      every: Duration;
      cron?: never;
      timeZone?: never;
    }
  | {
      /** Five fields, `0 3 * * *`, or six with the seconds in front. */
      cron: string;
      /** IANA name, like `Europe/Berlin`. Default `UTC`, never that of the machine. */
      timeZone?: string;
      every?: never;
    };

/** What `schedule` takes as `repeat`. */
export type RepeatOptions = RepeatInterval & {
  /**
   * What becomes of instants that were missed, or that came while a run took its time. `latest` (default): one run for
   * all of them, due at the last. `each`: a run for each, one after another. `none`: no run; what could not begin within
   * a minute is left out.
   */
  catchUp?: CatchUp;
};

/** What becomes of instants that were missed: one run for all of them, one for each, or none. */
export type CatchUp = 'latest' | 'each' | 'none';

/** How a delay recurs: each so many milliseconds, or by the wall clock of a time zone. */
export type DelayRepeat = { catchUp: CatchUp } & (
  { every: number } | { cron: string; timeZone: string }
);
